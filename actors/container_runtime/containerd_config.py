"""containerd's configuration as TOML: version 2 for containerd 1.6 and 1.7, version 3 for 2.x with its other plug-ins.

Why a setting is there: containerd's docs/cri/config.md, and what its defaults do where this host lacks something.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .host import RuntimeHost
from .images import SANDBOX_IMAGE
from .instance import ManagedRuntime

_UNUSED: Final = (
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.nri.v1.nri",
    "io.containerd.internal.v1.tracing",
    "io.containerd.tracing.processor.v1.otlp",
)
"""Left out: each costs start-up time and memory, and none is of use here."""
_UNUSED_BEFORE_2: Final = ("io.containerd.snapshotter.v1.aufs",)
_UNUSED_FROM_2: Final = ("io.containerd.snapshotter.v1.erofs",)
_DAEMON_OOM_SCORE: Final = -999
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")

Table = dict[str, Any]


def render(instance: ManagedRuntime, host: RuntimeHost, *, cluster: bool = False) -> str:
    """The text of config.toml. `cluster`: the pods' network comes from a cluster, later."""
    newer = host.version[0] >= 2
    config: Table = {
        "version": 3 if newer else 2,
        "root": instance.containerd_root,
        "state": instance.containerd_state,
        "oom_score": _DAEMON_OOM_SCORE if host.lowers_oom_score else 0,
        "disabled_plugins": [*_UNUSED, *(_UNUSED_FROM_2 if newer else _UNUSED_BEFORE_2)],
        "grpc": {"address": instance.socket},
        "ttrpc": {"address": f"{instance.socket}.ttrpc"},
        "debug": {"level": "warn"},
        "plugins": {
            **(_plugins_3(instance, host, cluster) if newer else _plugins_2(instance, host, cluster)),
            "io.containerd.internal.v1.opt": {"path": f"{instance.root}/opt"},
        },
    }
    return "# Written at each start of containerd: changes are lost.\n" + "\n".join(_lines(config, ()))


def _plugins_2(instance: ManagedRuntime, host: RuntimeHost, cluster: bool) -> Table:
    return {
        "io.containerd.grpc.v1.cri": {
            **_streaming(),
            **_security(host),
            **({"enable_cdi": True} if host.version == (1, 7) else {}),  # off there by default, unknown before
            "sandbox_image": SANDBOX_IMAGE,
            "cni": _network(instance, host, cluster),
            "containerd": {**_runtimes(instance, host), "snapshotter": _snapshotter(host)},
            "registry": {"config_path": instance.registries_dir},
        }
    }


def _plugins_3(instance: ManagedRuntime, host: RuntimeHost, cluster: bool) -> Table:
    return {
        "io.containerd.cri.v1.images": {
            "snapshotter": _snapshotter(host),
            "pinned_images": {"sandbox": SANDBOX_IMAGE},
            "registry": {"config_path": instance.registries_dir},
        },
        "io.containerd.cri.v1.runtime": {
            **_security(host),
            "cni": _network(instance, host, cluster),
            "containerd": _runtimes(instance, host),
        },
        "io.containerd.grpc.v1.cri": _streaming(),
    }


def _network(instance: ManagedRuntime, host: RuntimeHost, cluster: bool) -> Table:
    template = {"conf_template": instance.network_template} if cluster else {}
    return {**_bin_dir(host), "conf_dir": instance.network_dir, **template}


def _bin_dir(host: RuntimeHost) -> Table:
    """containerd 2.0 does not know the newer name, and passes it over; later ones refuse both together."""
    return {"bin_dirs": [host.plugin_dir]} if host.version >= (2, 1) else {"bin_dir": host.plugin_dir}


def _streaming() -> Table:
    """Streams are fetched by our own server on the same host, on any port."""
    return {"stream_server_address": "127.0.0.1", "stream_server_port": "0"}


def _security(host: RuntimeHost) -> Table:
    return {
        # without the capability every sandbox would fail: "can't get final child's PID from pipe: EOF"
        "restrict_oom_score_adj": not host.lowers_oom_score,
        "disable_apparmor": not host.apparmor,
        "enable_selinux": host.selinux,
        "disable_hugetlb_controller": not host.hugetlb,
        "tolerate_missing_hugetlb_controller": True,
        "netns_mounts_under_state_dir": True,
        "enable_unprivileged_ports": True,
        "enable_unprivileged_icmp": True,
    }


def _runtimes(instance: ManagedRuntime, host: RuntimeHost) -> Table:
    options = {
        "SystemdCgroup": instance.cgroup_driver == "systemd",
        "Root": instance.runc_state,
        "BinaryName": host.runc,
    }
    return {
        "default_runtime_name": "runc",
        "runtimes": {"runc": {"runtime_type": "io.containerd.runc.v2", "options": options}},
    }


def _snapshotter(host: RuntimeHost) -> str:
    return "overlayfs" if host.overlay else "native"


def _lines(table: Table, path: tuple[str, ...]) -> list[str]:
    """A table in TOML: its own values, then the tables in it. A JSON string or array of them is TOML as well."""
    values = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
    name = ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)
    head = [f"\n[{name}]"] if path and values else []
    tables = [line for key, value in table.items() if isinstance(value, dict) for line in _lines(value, (*path, key))]
    return head + values + tables + ([] if path else [""])
