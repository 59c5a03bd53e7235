"""The configuration and the paths of the demo's node. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

DEFAULT_ROOT_DIR: Final = "/var/lib/troupelet-demo"
NODE: Final = "demo"
POD: Final = f"hello-{NODE}"
"""A static pod's name consists of its manifest's name and its node's name."""
MANAGED: Final = "managed"
HEALTHZ_PORT: Final = 10248
NODE_PORT: Final = 10250
"""The standard port; another one is used if an agent already runs here."""


class DemoLayout(msgspec.Struct, frozen=True):
    """Everything is below one directory of the demo. `root`: absolute and clean."""

    root: str

    @property
    def mark(self) -> str:
        """Marks the directory as the demo's own, which may be removed."""
        return f"{self.root}/.troupelet-demo"

    @property
    def manifests(self) -> str:
        return f"{self.root}/manifests"

    @property
    def manifest(self) -> str:
        return f"{self.manifests}/hello.yaml"

    @property
    def config(self) -> str:
        return f"{self.root}/config.yaml"

    @property
    def pod_logs(self) -> str:
        return f"{self.root}/logs"

    @property
    def agent_log(self) -> str:
        return f"{self.root}/agent.log"

    @property
    def cgroup(self) -> str:
        """Its own cgroup root, apart from other agents' pods: `/troupelet-` and eight hexadecimal digits."""
        return f"/troupelet-{hashlib.sha256(self.root.encode()).hexdigest()[:8]}"


def configuration(
    layout: DemoLayout, endpoint: str, is_free: Callable[[int], bool], any_port: Callable[[], int]
) -> dict[str, Any]:
    """The KubeletConfiguration of the demo. `endpoint`: of the runtime; `is_free`: whether a TCP port of this host is
    free."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": endpoint,
        "staticPodPath": layout.manifests,
        "podLogsDir": layout.pod_logs,
        "cgroupRoot": layout.cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,  # leave the machine unchanged afterwards
        "healthzPort": HEALTHZ_PORT if is_free(HEALTHZ_PORT) else any_port(),
        "port": NODE_PORT if is_free(NODE_PORT) else any_port(),
    }


def rendered(config: dict[str, Any]) -> str:
    """JSON, which is YAML."""
    return json.dumps(config, indent=2) + "\n"


def flags(layout: DemoLayout) -> list[str]:
    """The flags of `supervise start`."""
    return [
        f"--root-dir={layout.root}",
        f"--config={layout.config}",
        f"--hostname-override={NODE}",
        "--set-kernel-tunables=false",  # and so are these
    ]


def log_lines(text: str) -> list[str]:
    """The text lines of a container log in the runtime's format: time, stream, tag and text (KEP-1753)."""
    return [fields[3] for line in text.splitlines() if len(fields := line.split(" ", 3)) == 4]
