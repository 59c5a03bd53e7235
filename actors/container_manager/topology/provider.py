"""A hint provider: a manager of one kind of hardware, as the topology manager uses it."""

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
    """A container does not get what it asks for: the pod is refused.

    `reason`: the pod's, if the error has one of its own (SMTAlignmentError); '' is UnexpectedAdmissionError.
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
    """One manager: of devices, CPUs or memory, asked in that order. It lives here, or is an adapter that asks another
    actor: then a method that gets no answer raises AskError, and the pod's worker asks again.

    A pod's admission is: for each container, init containers first, `hints` of all providers, merged into one affinity;
    `reserve` of all providers with it. With scope pod it is `pod_hints` once, and `reserve` with the same affinity
    for each container. So far no other pod comes between, and nothing waits for a program that is not ours. Then
    `allocate` for each container of those providers that have only set its share aside. With policy none `allocate`
    alone is called, with no affinity.

    All is idempotent: `allocate` of a container that has its share already answers the same share, also after a
    restart of the provider, and `hints` offers no other nodes.
    """

    async def hints(self, pod: Pod, container: Container) -> Hints:
        """What this container could get. {}: no opinion."""

    async def pod_hints(self, pod: Pod) -> Hints:
        """What the whole pod could get."""

    async def reserve(
        self, pod: Pod, container: Container, affinity: TopologyHint, *, running: bool
    ) -> ContainerAllocation | None:
        """Take the container's share, or, where that takes long, set it aside, so that nobody else gets it before
        `allocate`: None. Raises like `allocate`."""

    async def allocate(
        self, pod: Pod, container: Container, affinity: TopologyHint | None, *, running: bool
    ) -> ContainerAllocation:
        """Take the container's share, from the nodes of the affinity where it can. `running`: the pod has running
        containers, so it has its hardware already. Raises AllocationError, and OSError if what is taken cannot be
        kept: then nothing is taken."""

    def restore(self, pod: Pod, container: Container) -> None:
        """A running pod is counted by a new process: what its container had is allocated again, unless it is kept, or
        kept elsewhere. Waits for nobody. Raises like `allocate`."""

    def prepares(self, pod: Pod) -> bool:
        """Whether `prepare` is to be asked before each container of this pod is created."""

    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        """The container is about to be created: what it gets, as of now; it may be one that nothing was allocated to,
        and an ephemeral one. `ended`: init containers that no longer need theirs. Raises AllocationError, with a text
        for the container's waiting message."""

    def exclusive(self) -> Exclusive:
        """The CPUs or the memory that containers have for themselves."""

    def served(self, uid: str) -> frozenset[str]:
        """Extended resources that are allocated to this pod."""

    def uids(self) -> Collection[str]:
        """Pods with allocations or records here. One that no worker has is forgotten."""

    def release(self, uid: str) -> None:
        """The pod has ended, was refused, or was withdrawn: all that it has is free. Of an unknown pod: nothing."""

    def forget(self, uid: str) -> None:
        """No worker has the pod any more: its allocations are freed and its records deleted."""
