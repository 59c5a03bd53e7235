"""Messages to the container manager, and its answers."""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from actors.shared.admission.node_object import NodeObject
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.exclusive import Exclusive
from actors.shared.kube.container import ResourceRequirements
from supervision.addresses import ActorName
from supervision.message import Message, Question

CONTAINER_MANAGER: Final = ActorName("container_manager")


class AdmitPod(Question["PodAdmitted | PodRejected | AdmissionFailed"], frozen=True):
    """From a worker: may this pod run? Idempotent.

    A pod with running containers (`running`) has its resources already: only checks that do not concern resources
    apply.
    """

    uid: str
    pod: bytes
    running: bool = False
    node: NodeObject | None = None
    """The Node object; None when it is not known, or does not matter for the pod."""
    strict_groups: bool = False
    """The runtime supports supplementalGroupsPolicy; looked up only for a pod that needs it."""
    apparmor: bool = False
    """AppArmor is enabled in the kernel."""
    claims: bool = False
    """Resource claims can be prepared: there is an API server, and the gate is on."""
    extended_claims: bool = False
    """Claims for extended resources can be prepared too (gate DRAExtendedResource)."""
    over: bool = False
    """The pod has completed. Nothing is counted or created. The answer is PodAdmitted, or AdmissionFailed if the node
    ended it; its worker soon gets the order with the reason."""


class CountRunningPod(Message, frozen=True):
    """From a worker: this pod was admitted and has running containers, so it is counted without any check. A resize of
    it that waits for room is dropped.

    Sent when a new container manager says Hello, before ShardPods, when the containers of a pod are resized, when a
    resize is taken back, and when the pod gets another sandbox: its cgroup is made again if it is gone.
    """

    uid: str
    pod: bytes


class ActuatedContainer(msgspec.Struct, frozen=True):
    """The resources that the runtime gave one instance of a container."""

    id: str
    resources: ResourceRequirements


class ActuatedResources(Message, frozen=True):
    """From a worker, when containers of a pod with resources were started or resized, and for all of them when a new
    container manager says Hello: it is kept for the worker's next incarnation. Idempotent."""

    uid: str
    containers: dict[str, ActuatedContainer]
    """By name. The records of other containers stay."""
    pod: ResourceRequirements | None = None
    """The resources of the pod itself."""
    complete: bool = False
    """No resize of the pod is under way."""


class PodAdmitted(Message, frozen=True):
    """The pod is in the ledger, its resources are kept for the next incarnation, and its cgroup exists."""

    uid: str
    cgroup_parent: str
    """For the sandbox config: `/kubepods/burstable/pod<uid>`, or a slice name with the systemd driver; '' without
    cgroupsPerQOS."""
    containers: dict[str, ContainerAllocation] = {}
    """By container name: what it gets from the managers of CPUs, memory and devices; a container that gets nothing is
    missing. Only in answers to AdmitPod, also for a running pod."""
    prepare: bool = False
    """The hardware may change, or a container needs preparation: ask PrepareContainer before each container is
    created."""


class PrepareContainer(Question["ContainerPrepared | PreparationFailed"], frozen=True):
    """From a worker, before it creates a container of a pod whose PodAdmitted has `prepare`: asks for the container's
    hardware. Idempotent."""

    uid: str
    container: str
    ended: list[str] = []
    """The pod's init containers before this one, without sidecars; they have ended."""


class ContainerPrepared(Message, frozen=True):
    """Replaces the container's entry of PodAdmitted."""

    uid: str
    container: str
    allocation: ContainerAllocation


class PreparationFailed(Message, frozen=True):
    """The container cannot be created now; it is tried again."""

    uid: str
    container: str
    message: str


class PodRejected(Message, frozen=True):
    """The pod may not run here, with the kubelet's reason and message (OutOfcpu, NodePorts, ...)."""

    uid: str
    reason: str
    message: str
    detail: str = ""
    """For an Infeasible resize: the label of kubelet_pod_infeasible_resizes_total. For a Deferred one: the reason of
    the admission check, for the event."""


class ResizePod(Question["PodAdmitted | PodRejected | AdmissionFailed"], frozen=True):
    """From a worker: may this pod, which is in the ledger, have the resources of `pod` instead of those of `before`?
    Answered with PodAdmitted: the pod's cgroup then has the larger of both limits until CountRunningPod comes after the
    ActuatedResources of all its containers. Or with PodRejected, reason Deferred or Infeasible: a deferred resize waits
    for room, then ResizeMayFit follows. Idempotent."""

    uid: str
    pod: bytes
    before: bytes
    since: float = 0.0
    """When it was first deferred, seconds since 1970; 0.0: not yet."""


class StopCounting(Message, frozen=True):
    """From a worker: the pod's containers have ended; its resources and ports are free."""

    uid: str


class FreeRequests(Message, frozen=True):
    """From a worker: the pod's source no longer has it, and its containers are being stopped. As in the kubelet, its
    requested resources and ports are free for others; its hardware is not yet."""

    uid: str


class ReleasePod(Question["PodReleased"], frozen=True):
    """From a worker: remove the pod's cgroup in every hierarchy. Answered with PodReleased. Idempotent."""

    uid: str


class PodReleased(Message, frozen=True):
    """`message` is not empty if something is left (it is retried)."""

    uid: str
    message: str = ""


class GiveUserNamespace(Question["UserNamespaceGiven | UserNamespaceRefused"], frozen=True):
    """From a worker: asks for the IDs of this pod's user namespace. The answer is the same each time. Idempotent."""

    uid: str


class UserNamespaceGiven(Message, frozen=True):
    """Root in the pod is `first` on the host; `length` IDs are mapped."""

    uid: str
    first: int
    length: int


class UserNamespaceRefused(Message, frozen=True):
    """No IDs are free, or the free ones are unknown: `message` has the reason."""

    uid: str
    message: str


class NodeEvictions(Message, frozen=True):
    """From eviction_manager, on change and on Hello: the pressure conditions, and the pods that it evicts."""

    conditions: list[str]
    """The true conditions of MemoryPressure, DiskPressure and PIDPressure."""
    ending: list[str] = []
    """UIDs of the pods that it ends and whose last status the API server does not have yet; these are not started."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class GetExclusiveHardware(Question["ExclusiveHardware"], frozen=True):
    """Answered with ExclusiveHardware."""


class ExclusiveHardware(Message, frozen=True):
    """The exclusive CPUs and the memory on chosen NUMA nodes of containers."""

    found: Exclusive


class GetNodeResources(Question["NodeResources"], frozen=True):
    """Answered with NodeResources."""


class NodeResources(Message, frozen=True):
    """cpu in thousandths of a core, everything else in bytes or units."""

    capacity: dict[str, int]
    allocatable: dict[str, int]
    requested: dict[str, int]
    pods: int
    cgroup_driver: str
    cgroup_version: int
    pods_memory: int = 0
    """Memory that all pods may have: capacity minus reservations, without eviction thresholds; 0: not known."""


class AdmissionFailed(Message, frozen=True):
    """The pod may run, but its cgroup could not be made: ask again. Or it was withdrawn before it was admitted (by
    StopCounting, ReleasePod, or a ShardPods without it); then nothing of it is left, and the worker may ask again."""

    uid: str
    message: str
    cgroup: bool = False
    """The cgroup could not be made."""
