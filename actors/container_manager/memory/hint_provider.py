"""The hint provider of memory: records the NUMA nodes of each container's memory."""

from __future__ import annotations

from collections.abc import Collection

from actors.container_manager.state_store import StateStore
from actors.container_manager.topology.local_provider import LocalProvider
from actors.container_manager.topology.provider import AllocationError
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.exclusive import ContainerExclusive, Exclusive, MemoryOfNodes
from actors.shared.hardware.hints import Hints, TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_sidecar
from supervision.metrics import Metrics

from .requests import requested_memory
from .state import Block, MemoryState
from .static_policy import allocate, hints, pod_hints


class PinnedMemory(LocalProvider):
    """The Static policy: memory of NUMA nodes, allocated and kept in the state file."""

    def __init__(self, store: StateStore[MemoryState], metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics

    async def hints(self, pod: Pod, container: Container) -> Hints:
        return hints(self._store.value, pod, container)

    async def pod_hints(self, pod: Pod) -> Hints:
        return pod_hints(self._store.value, pod)

    def _allocate(self, pod: Pod, container: Container, affinity: TopologyHint | None) -> ContainerAllocation:
        """Raises AllocationError, OSError."""
        if requested_memory(pod, container):
            self._metrics.count("kubelet_memory_manager_pinning_requests_total")
            before = self._store.value
            try:
                after = allocate(before, pod, container, affinity)
            except AllocationError:
                self._metrics.count("kubelet_memory_manager_pinning_errors_total")
                raise
            if after is not before:
                self._store.keep(after)
        return self._allocation_of(pod.metadata.uid, container.name)

    def prepares(self, pod: Pod) -> bool:
        """Whether init containers have memory, which later containers can use after they have ended."""
        return any(not is_sidecar(one) and requested_memory(pod, one) for one in pod.spec.initContainers)

    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        before = self._store.value
        after = before.without_containers(uid, ended)
        if after is not before:
            self._store.free(after)
        return self._allocation_of(uid, container)

    def uids(self) -> Collection[str]:
        return list(self._store.value.entries)

    def release(self, uid: str) -> None:
        if uid in self._store.value.entries:
            self._store.free(self._store.value.without(uid))

    def exclusive(self) -> Exclusive:
        pods = {
            uid: {
                name: ContainerExclusive(memory=tuple(map(_memory_of_nodes, blocks)))
                for name, blocks in containers.items()
            }
            for uid, containers in self._store.value.entries.items()
        }
        allocatable = [
            MemoryOfNodes(kind, table.allocatable, (node,))
            for node, has in sorted(self._store.value.machine.items())
            for kind, table in sorted(has.memoryMap.items())
            if table.allocatable
        ]
        return Exclusive(pods, memory=tuple(allocatable))

    def _allocation_of(self, uid: str, container: str) -> ContainerAllocation:
        blocks = self._store.value.of(uid).get(container, ())
        nodes = sorted({node for block in blocks for node in block.numaAffinity})
        return ContainerAllocation(cpuset_mems=",".join(map(str, nodes)))


def _memory_of_nodes(block: Block) -> MemoryOfNodes:
    return MemoryOfNodes(block.type, block.size, block.numaAffinity)
