"""The messages of the status manager."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, Literal, TypeVar

import msgspec

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.container import ResourceRequirements
from supervision.addresses import ActorName
from supervision.message import Message, Question

STATUS_MANAGER: Final = ActorName("status_manager")


class Waiting(msgspec.Struct, frozen=True):
    """Why a container is not running: CrashLoopBackOff, ErrImagePull, CreateContainerConfigError, ..."""

    reason: str
    message: str = ""


WorkerPhase = Literal["admitting", "running", "terminating", "terminated", "rejected"]
"""The phase of the pod's worker. `terminated`: no container runs or will run; clean-up may remain."""
TerminationStep = Literal["", "containers", "sandbox", "claims", "volumes", "cgroup"]
"""What the termination of a pod waits for; empty: it does not terminate, or nothing of it is left."""


class Resize(msgspec.Struct, frozen=True):
    """An in-place resize that is not done."""

    reason: str = ""
    """Deferred or Infeasible: the resize is pending, and `message` has the reason."""
    message: str = ""
    in_progress: bool = False
    error: str = ""
    """Why the last try failed."""
    generation: int = 0
    """metadata.generation of the request that is in progress; 0: the pod's."""


class PodObserved(Message, frozen=True):
    """From a worker, on change and on Hello: its full report of one pod."""

    uid: str
    pod: bytes
    worker_phase: WorkerPhase
    runtime: PodRuntime | None = None
    waiting: dict[str, Waiting] = {}
    """By container name."""
    reason: str = ""
    message: str = ""
    """`reason` and `message` of the pod: OutOfcpu, Evicted, DeadlineExceeded, ..."""
    disruption: str = ""
    """Message of the condition DisruptionTarget, which the pod gets when it ends; empty: it gets none."""
    sandbox_ready: bool = False
    gone: bool = False
    """Forget the pod: no source has it, and nothing of it is left."""
    finished: bool = False
    """Its containers, volumes and cgroup are gone: the API server may forget it."""
    removed: bool = False
    """No source has the pod."""
    termination_step: TerminationStep = ""
    last_error: str = ""
    """The error of the last try of the next step; empty: none."""
    slow_call: str = ""
    """The CRI method that the worker has waited for long; empty: none."""
    slow_since: float = 0.0
    """When that call began, seconds since 1970."""
    pulls: list[tuple[float, float]] = []
    """Begin and end, seconds since 1970, of each image pull that the pod's start waited for."""
    resize: Resize | None = None
    actual_resources: dict[str, ResourceRequirements] = {}
    """During a resize that is not applied yet, or cannot be: the actual resources, by container name, and by POD_LEVEL
    (shared/pod_records) those of the pod. `pod` has the allocated ones."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class ProbeResult(Message, frozen=True):
    """From prober, on change and on Hello: the result of one probe of this container."""

    uid: str
    container: str
    container_id: str
    kind: Literal["readiness", "startup", "liveness"]
    success: bool
    coalesce: ClassVar[tuple[str, ...]] = ("uid", "container", "kind")


class ClaimedDeviceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a device of a resource claim."""

    resource_id: str
    requests: list[str] = []
    """The requests of the claim that the device serves; none: all."""
    health: Literal["Healthy", "Unhealthy", "Unknown"] = "Unknown"
    message: str = ""


class ClaimedDevices(Message, frozen=True):
    """From device_manager, on change and on Hello: the devices of a pod's resource claims (gate
    ResourceHealthStatus)."""

    uid: str
    claims: dict[str, list[ClaimedDeviceHealth]]
    """By the claim's name."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class DeviceHealth(Message, frozen=True):
    """From device_manager, on change and on Hello: the devices of plugins that the containers of a pod have (gate
    ResourceHealthStatus)."""

    uid: str
    containers: dict[str, dict[str, dict[str, str]]]
    """Healthy, Unhealthy or Unknown, by container, resource and device."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class GetPods(Question["Pods"], frozen=True):
    """From node_server and commands. Answered with Pods; ask every page (`all_pages`)."""

    after: str = ""
    """`rest` of the last page."""


class Pods(Message, frozen=True):
    """A v1 PodList as JSON, or a page of it: each pod as its source gave it, with its current status."""

    data: bytes
    removed: list[str] = []
    """UIDs of the pods that terminate because no source has them."""
    rest: str = ""
    """There are more pods: the next page is GetPods(rest)."""


class ServedPod(Message, frozen=True):
    """To pods_server, on change and on Hello: one pod."""

    uid: str
    pod: bytes
    """JSON, as its source gave it, with its current status; empty: it is gone."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class ServedPods(Message, frozen=True):
    """To pods_server, when every worker has listed its pods, on change and on Hello: the UIDs of all pods."""

    uids: list[str]
    """A pod that was not sent yet follows as ServedPod."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class GetPodStatus(Question["PodStatusFound"], frozen=True):
    """By UID, or by namespace and name. Answered with PodStatusFound (with empty bytes when there is no such pod)."""

    uid: str = ""
    namespace: str = ""
    name: str = ""


class PodStatusFound(Message, frozen=True):
    uid: str
    pod: bytes
    status: bytes
    """JSON of the v1 PodStatus."""
    worker_phase: str = ""
    """This and the next four fields: see PodObserved."""
    termination_step: str = ""
    last_error: str = ""
    slow_call: str = ""
    slow_since: float = 0.0


class GetLivePods(Question["LivePods"], frozen=True):
    """From shutdown_manager and eviction_manager. Answered with LivePods."""


class LivePod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, for eviction and shutdown."""

    uid: str
    full_name: str
    """`name_namespace`."""
    static: bool
    priority: int
    grace_seconds: int
    finished: bool
    """Its containers, volumes and cgroup are gone, or it was rejected."""
    status_written: bool
    """The API server has its current status; always true without an API server."""
    started: float = 0.0
    """When its newest running container was started, seconds since 1970; 0.0: none runs."""
    reported: bool = True
    """False: its worker has listed the pod but not reported it yet; the other fields are assumed."""


class LivePods(Message, frozen=True):
    pods: list[LivePod]
    complete: bool
    """Every worker has listed its pods; before that some may be missing."""


class GetActivePods(Question["ActivePods"], frozen=True):
    """From eviction_manager. Answered with ActivePods, in pages as GetPods."""

    after: str = ""


class ActivePod(msgspec.Struct, frozen=True):
    """A pod that has not ended."""

    uid: str
    pod: bytes
    """JSON, with the allocated resources, and only the fields that evictions read."""
    containers: dict[str, str]
    """ID of the newest container of each name, which may have ended."""


class ActivePods(Message, frozen=True):
    pods: list[ActivePod]
    rest: str = ""
    """There are more pods: the next page is GetActivePods(rest)."""


P = TypeVar("P", Pods, ActivePods)


async def all_pages(ask: Callable[[str], Awaitable[P]]) -> list[P]:
    """Ask for all pages, each with the `rest` of the last one."""
    pages = [await ask("")]
    while pages[-1].rest:
        pages.append(await ask(pages[-1].rest))
    return pages


def every_page(ask: Callable[[str], P]) -> list[P]:
    """The same outside of actors."""
    pages = [ask("")]
    while pages[-1].rest:
        pages.append(ask(pages[-1].rest))
    return pages
