"""Sandboxes, containers and images of the runtime, as immutable values for messages.

Times are nanoseconds since 1970, 0 for never, as in CRI.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from actors.shared.kube.names import CONTAINER_RESTART_COUNT

_COUNT = re.compile("[0-9]{1,9}")
"""The largest attempt of a CRI message. An annotation may hold any number."""
_GIVEN_UP = re.compile(
    r"(context canceled"
    r"|failed to start io pipe copy: unable to copy pipes: .*: no such file or directory"
    r"|failed to start shim: start failed: .*: signal: killed"
    r"|failed to create containerd task: task [0-9a-f]{64}: already exists)(: unknown)?$"
)
"""The errors of a start whose client died, which kills a shim that is being started, or during which containerd
restarted, so that the container's pipes are lost, or that its shim has made the task only since: that waits for the
order to start."""
START_ERROR = "StartError"
"""The reason of a container that the runtime could not start."""


class CriContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


class CriResources(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a container as the runtime applied them; 0: no limit or not reported."""

    cpu_shares: int = 0
    cpu_quota: int = 0
    """Microseconds in each period."""
    cpu_period: int = 0
    memory_limit_bytes: int = 0


class CriUser(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a container's first process."""

    uid: int
    gid: int
    supplemental_groups: list[int] = []


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """A sandbox, from PodSandboxStatus (the list call leaves `ips` and `network_mode` unset)."""

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


class CriContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A container, from ContainerStatus (the list call leaves times, exit, reason, message and log path unset)."""

    id: str
    name: str
    pod_uid: str
    pod_name: str = ""
    pod_namespace: str = ""
    sandbox_id: str = ""
    attempt: int = 0
    state: CriContainerState = CriContainerState.UNKNOWN
    image: str = ""
    """The image name in the pod's spec, if the runtime stores it."""
    resolved_image: str = ""
    """The runtime's full name of it, `docker.io/library/busybox:1.36`; from the status."""
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
    resources: CriResources | None = None
    """From the status, if the runtime reports it."""
    user: CriUser | None = None
    """From the status, if the runtime reports it."""
    stop_signal: str = ""
    """SIGTERM; from the status, if the runtime reports it."""
    recursive_read_only: list[str] = []
    """Paths in the container of recursively read-only mounts; from the status."""
    mounted_images: list[str] = []
    """Images of its image volumes; from the status."""
    message_file: str = ""
    """The file on the host that is mounted for its termination message; from the status."""

    @property
    def start_given_up(self) -> bool:
        """Whether its start was interrupted because its client died or the runtime restarted. The container did not
        fail and its program has not run; containerd reports an exit with START_ERROR."""
        return (
            self.state is CriContainerState.EXITED
            and self.reason == START_ERROR
            and _GIVEN_UP.search(self.message) is not None
        )

    @property
    def restart_count(self) -> int:
        """From the annotation (another incarnation or the kubelet may have written it); without one, the attempt."""
        text = self.annotations.get(CONTAINER_RESTART_COUNT, "")
        return int(text) if _COUNT.fullmatch(text) else self.attempt


class PodRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """The sandboxes and containers of one pod, newest first, and the time of the request: seconds of the
    monotonic clock, which all processes of the node share."""

    uid: str
    name: str = ""
    namespace: str = ""
    sandboxes: list[Sandbox] = []
    containers: list[CriContainer] = []
    at: float = 0.0

    def newest(self, name: str) -> CriContainer | None:
        """The newest container of that name."""
        return next((container for container in self.containers if container.name == name), None)


def is_running(container: CriContainer | None) -> bool:
    return container is not None and container.state is CriContainerState.RUNNING


class RuntimeVersion(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """containerd, cri-o, ..."""
    version: str
    api_version: str


class RuntimeHandler(msgspec.Struct, frozen=True, kw_only=True):
    """A RuntimeClass handler; '' is the default one. Old runtimes list none."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the runtime and its network are ready; `message` describes the problem, '' without one."""

    runtime_ready: bool = False
    network_ready: bool = False
    message: str = ""
    runtime_message: str = ""
    network_message: str = ""
    """`message` in two parts: the problem of the runtime and the problem of its network."""
    handlers: list[RuntimeHandler] = []
    supplemental_groups_policy: bool = False
    """The feature of that name; false on old runtimes, which ignore the field silently."""

    def handler(self, name: str) -> RuntimeHandler | None:
        return next((handler for handler in self.handlers if handler.name == name), None)


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image on the node."""

    id: str
    """Digest of its configuration."""
    tags: list[str] = []
    digests: list[str] = []
    """<repository>@sha256:..., empty for an image that was imported."""
    size_bytes: int = 0
    uid: int | None = None
    """User of the image when it is a number."""
    username: str = ""
    pinned: bool = False
    """Exempt from garbage collection. containerd 1.6 does not report it."""
    runtime_handler: str = ""


class ExecResult(msgspec.Struct, frozen=True):
    """Output and exit code of a command."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


class EventKind(StrEnum):
    CREATED = "created"
    STARTED = "started"
    STOPPED = "stopped"
    DELETED = "deleted"
    UNKNOWN = "unknown"


class ContainerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A container, or a sandbox (then `container_id` is the sandbox's), changed its state."""

    container_id: str
    kind: EventKind
    created_ns: int
    pod_uid: str = ""
