"""The part that the hint providers of CPUs and memory have in common: they decide in this process, at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.hints import TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod


class LocalProvider(ABC):
    """A hint provider that waits for nobody, so it never has to reserve a share for later. See provider.py."""

    @abstractmethod
    def _allocate(self, pod: Pod, container: Container, affinity: TopologyHint | None) -> ContainerAllocation:
        """Allocate the container's share and record it. Raises AllocationError, OSError."""

    @abstractmethod
    def release(self, uid: str) -> None:
        """Free all of the pod."""

    async def reserve(
        self, pod: Pod, container: Container, affinity: TopologyHint, *, running: bool
    ) -> ContainerAllocation:
        return self._allocate(pod, container, affinity)

    async def allocate(
        self, pod: Pod, container: Container, affinity: TopologyHint | None, *, running: bool
    ) -> ContainerAllocation:
        return self._allocate(pod, container, affinity)

    def restore(self, pod: Pod, container: Container) -> None:
        self._allocate(pod, container, None)

    def served(self, uid: str) -> frozenset[str]:
        """None: CPUs and memory are no extended resources."""
        return frozenset()

    def forget(self, uid: str) -> None:
        """Only devices have records beside their allocations."""
        self.release(uid)
