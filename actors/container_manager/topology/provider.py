"""The interface of hint providers: managers of one kind of hardware, for the topology manager."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from actors.shared.admission.request import Refusal
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.exclusive import Exclusive
from actors.shared.hardware.hints import Hints, TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod


class AllocationError(Exception):
    """A container does not get the hardware that it requests, so the pod is refused. `reason`: the pod's reason, such
    as SMTAlignmentError; '' means UnexpectedAdmissionError.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.message, self.reason = message, reason

    def refusal(self) -> Refusal:
        """The refusal in the kubelet's words."""
        if self.reason:
            return Refusal(self.reason, self.message)
        text = f"Allocate failed due to {self.message}, which is unexpected"
        return Refusal("UnexpectedAdmissionError", text)


class HintProvider(Protocol):
    """One manager: of devices, CPUs or memory, asked in that order. It is in this process, or an adapter that asks
    another actor. A method of an adapter that gets no answer raises AskError, and the pod's worker asks again.

    A pod's admission is: for each container, init containers first, `hints` of all providers, merged into one affinity;
    `reserve` of all providers with it. With scope pod it is `pod_hints` once, and `reserve` with the same affinity
    for each container. Up to here no other pod is admitted in between, and no external program is waited for. Then
    `allocate` is called for each container of the providers that have only reserved its share. With the policy none,
    only `allocate` is called, without an affinity. All calls are idempotent: for a container that already has its
    share, `allocate` returns the same share, also after a restart of the provider, and `hints` offers no other nodes.
    """

    async def hints(self, pod: Pod, container: Container) -> Hints:
        """The hints for this container, by resource. {}: no opinion."""

    async def pod_hints(self, pod: Pod) -> Hints:
        """The hints for the whole pod, by resource."""

    async def reserve(
        self, pod: Pod, container: Container, affinity: TopologyHint, *, running: bool
    ) -> ContainerAllocation | None:
        """Allocate the container's share. If that may take long, reserve it for the later `allocate` and return None.
        Raises like `allocate`."""

    async def allocate(
        self, pod: Pod, container: Container, affinity: TopologyHint | None, *, running: bool
    ) -> ContainerAllocation:
        """Allocate the container's share, from the affinity's nodes if possible. `running`: the pod has running
        containers, so it has its hardware already. Raises AllocationError; OSError if the allocation cannot be
        recorded: then nothing is allocated."""

    def restore(self, pod: Pod, container: Container) -> None:
        """For a running pod that a new process counts: allocate again what its container had, unless it is recorded
        here or elsewhere. Does not wait for other programs. Raises like `allocate`."""

    def prepares(self, pod: Pod) -> bool:
        """Whether `prepare` must be called before each container of this pod is created."""

    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        """The current share of a container that is about to be created; it may have none, and may be an ephemeral one.
        `ended`: init containers that no longer need their shares. Raises AllocationError, with a text for the
        container's waiting message."""

    def exclusive(self) -> Exclusive:
        """The exclusive CPUs or memory of containers."""

    def served(self, uid: str) -> frozenset[str]:
        """Extended resources that are allocated to this pod."""

    def uids(self) -> Collection[str]:
        """UIDs of the pods with allocations or records here. A pod that no worker has is forgotten."""

    def release(self, uid: str) -> None:
        """Free all of a pod that has ended, was refused or was withdrawn. An unknown pod has nothing."""

    def forget(self, uid: str) -> None:
        """No worker has the pod: free its allocations and delete its records."""
