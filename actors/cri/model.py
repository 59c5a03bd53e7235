"""What the runtime says of sandboxes and containers, as immutable values that travel in messages.

Times are nanoseconds since 1970, 0 for never, as in CRI.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """One sandbox, from PodSandboxStatus (the list call leaves `ips` and `network_mode` unset)."""

    id: str
    pod_uid: str
    pod_name: str
    pod_namespace: str
    attempt: int = 0
    ready: bool = False
    created_ns: int = 0
    ips: list[str] = []
    host_network: bool = False
    runtime_handler: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """One container, from ContainerStatus (the list call leaves times, exit, reason, message and log path unset)."""

    id: str
    name: str
    pod_uid: str
    pod_name: str = ""
    pod_namespace: str = ""
    sandbox_id: str = ""
    attempt: int = 0
    state: ContainerState = ContainerState.UNKNOWN
    image: str = ""
    """As the pod asked for it, where the runtime kept it."""
    image_ref: str = ""
    image_id: str = ""
    created_ns: int = 0
    started_ns: int = 0
    finished_ns: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    log_path: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def restart_count(self) -> int:
        """From the annotation, as another incarnation (or the Go kubelet) wrote it; else the attempt."""
        text = self.annotations.get("io.kubernetes.container.restartCount", "")
        return int(text) if text.isdigit() else self.attempt


class PodRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """All that the runtime has of one pod, newest first, and when it was asked (seconds since 1970)."""

    uid: str
    name: str = ""
    namespace: str = ""
    sandboxes: list[Sandbox] = []
    containers: list[Container] = []
    at: float = 0.0

    def newest(self, name: str) -> Container | None:
        """The newest container of that name."""
        return next((container for container in self.containers if container.name == name), None)
