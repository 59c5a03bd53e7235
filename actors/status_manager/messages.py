"""What the status manager is told and asked."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.container import ResourceRequirements
from supervision.addresses import ActorName
from supervision.message import Message

STATUS_MANAGER: Final = ActorName("status_manager")


class Waiting(msgspec.Struct, frozen=True):
    """Why a container is not running: CrashLoopBackOff, ErrImagePull, CreateContainerConfigError, ..."""

    reason: str
    message: str = ""


WorkerPhase = Literal["admitting", "running", "terminating", "terminated", "rejected"]
"""`terminated`: no container runs and none will; only clean-up may be left."""


TerminationStep = Literal["", "containers", "sandbox", "volumes", "cgroup"]


class Resize(msgspec.Struct, frozen=True):
    """How far a resize in place is."""

    reason: str = ""
    """Deferred or Infeasible: it is pending, and `message` says why."""
    message: str = ""
    in_progress: bool = False
    error: str = ""
    """Why it did not go on at the last try."""


class PodObserved(Message, frozen=True):
    """From a worker, on change and on Hello: everything it knows of one pod."""

    uid: str
    pod: bytes
    worker_phase: WorkerPhase
    runtime: PodRuntime | None = None
    waiting: dict[str, Waiting] = {}
    """By container name."""
    reason: str = ""
    message: str = ""
    """Of the pod: rejected, evicted, DeadlineExceeded, ..."""
    sandbox_ready: bool = False
    gone: bool = False
    """Forget it: no source has the pod and nothing of it is left."""
    finished: bool = False
    """Its containers, volumes and cgroup are gone: the API server may forget it."""
    removed: bool = False
    """No source has it any more."""
    termination_step: TerminationStep = ""
    """What the end of the pod has come to."""
    termination_error: str = ""
    """Why that did not go at the last try."""
    pulls: list[tuple[float, float]] = []
    """Begin and end of each pull of an image that its start waited for, seconds since 1970."""
    resize: Resize | None = None
    actual_resources: dict[str, ResourceRequirements] = {}
    """By container name, where they are not those of `pod`, which are what was allocated: a resize is under way."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class ProbeResult(Message, frozen=True):
    """From prober, on change and on Hello: what counts now for this container."""

    uid: str
    container: str
    container_id: str
    kind: Literal["readiness", "startup", "liveness"]
    success: bool
    coalesce: ClassVar[tuple[str, ...]] = ("uid", "container", "kind")


class GetPods(Message, frozen=True):
    """From node_server. Answered with Pods."""


class Pods(Message, frozen=True):
    """A v1 PodList as JSON: each pod as its source gave it, with the status of now."""

    data: bytes


class GetPodStatus(Message, frozen=True):
    """By UID, or by namespace and name. Answered with PodStatusFound (with empty bytes when there is no such pod)."""

    uid: str = ""
    namespace: str = ""
    name: str = ""


class PodStatusFound(Message, frozen=True):
    uid: str
    pod: bytes
    status: bytes
    """JSON of the v1 PodStatus."""


class GetLivePods(Message, frozen=True):
    """From shutdown_manager. Answered with LivePods."""


class LivePod(msgspec.Struct, frozen=True, kw_only=True):
    """What matters of a pod to who is to end it."""

    uid: str
    full_name: str
    """`name_namespace`."""
    static: bool
    priority: int
    grace_seconds: int
    finished: bool
    """Its containers, volumes and cgroup are gone, or it was rejected."""
    status_written: bool
    """The API server has its status of now; always so without one."""
    started: float = 0.0
    """When the newest container that runs was started, seconds since 1970; 0.0: none runs."""
    reported: bool = True
    """False: its worker knows it and has not told more of it yet; the fields above are a guess."""


class LivePods(Message, frozen=True):
    pods: list[LivePod]
    complete: bool
    """Every worker has told which pods it knows; before that some may be missing."""
