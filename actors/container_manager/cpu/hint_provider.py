"""The hint provider of CPUs: records the exclusive CPUs of each container, and decides which CPUs a container runs
on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from actors.container_manager.state_store import StateStore
from actors.container_manager.topology.local_provider import LocalProvider
from actors.container_manager.topology.provider import AllocationError
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.exclusive import ContainerExclusive, Exclusive
from actors.shared.hardware.hints import Hints, TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.linux.cpu_list import format_cpu_list
from supervision.metrics import Metrics

from .requests import exclusive_cpus
from .state import CpuState
from .static_policy import StaticPolicy, allocate, hints, pod_hints

ALIGNED: Final = "kubelet_container_aligned_compute_resources_count"
NOT_ALIGNED: Final = "kubelet_container_aligned_compute_resources_failure_count"


class ExclusiveCpus(LocalProvider):
    """The static policy: exclusive CPUs, allocated and kept in the state file."""

    def __init__(
        self, policy: StaticPolicy, store: StateStore[CpuState], metrics: Metrics, *, unthrottled: bool
    ) -> None:
        """`unthrottled`: gate DisableCPUQuotaWithExclusiveCPUs."""
        self._policy, self._store, self._metrics, self._unthrottled = policy, store, metrics, unthrottled
        self._created_with: set[tuple[str, str]] = set()
        self._count()

    @property
    def state(self) -> CpuState:
        return self._store.value

    # -- HintProvider -----------------------------------------------------------------------------------------------
    async def hints(self, pod: Pod, container: Container) -> Hints:
        return hints(self._policy, self.state, pod, container)

    async def pod_hints(self, pod: Pod) -> Hints:
        return pod_hints(self._policy, self.state, pod)

    def _allocate(self, pod: Pod, container: Container, affinity: TopologyHint | None) -> ContainerAllocation:
        """Raises AllocationError, OSError."""
        if not exclusive_cpus(pod, container):
            return self._allocation_of(pod.metadata.uid, container.name)
        self._metrics.count("kubelet_cpu_manager_pinning_requests_total")
        full_cores = self._policy.options.full_cores
        before = self.state
        try:
            after = allocate(self._policy, before, pod, container, affinity)
        except AllocationError:
            self._metrics.count("kubelet_cpu_manager_pinning_errors_total")
            if full_cores:
                self._metrics.count(NOT_ALIGNED, scope="container", boundary="physical_cpu")
            raise
        if after is not before:
            self._store.keep(after)
            self._count()
            if self._policy.options.by_cache and self._in_one_cache(after.of(pod.metadata.uid)[container.name]):
                self._metrics.count(ALIGNED, scope="container", boundary="uncore_cache")
        if full_cores:
            self._metrics.count(ALIGNED, scope="container", boundary="physical_cpu")
        return self._allocation_of(pod.metadata.uid, container.name)

    def prepares(self, pod: Pod) -> bool:
        """True: the set of shared CPUs may change before the container is created."""
        return True

    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        if container in self.state.of(uid):
            self._created_with.add((uid, container))
        return self._allocation_of(uid, container)

    def uids(self) -> Collection[str]:
        return list(self.state.entries)

    def release(self, uid: str) -> None:
        self._created_with = {one for one in self._created_with if one[0] != uid}
        if uid in self.state.entries:
            self._store.free(self.state.without(uid))
            self._count()

    def exclusive(self) -> Exclusive:
        pods = {
            uid: {name: ContainerExclusive(cpus=tuple(sorted(cpus))) for name, cpus in containers.items()}
            for uid, containers in self.state.entries.items()
        }
        machine = self._policy.machine
        return Exclusive(pods, cpus=tuple(sorted(set(machine.by_id) - self._policy.reserved)))

    # -- what containers run on -------------------------------------------------------------------------------------
    def cpus_of(self, uid: str, container: str) -> str:
        """The CPUs of the container, as a list: its exclusive ones, or the shared ones."""
        return format_cpu_list(self.state.of(uid).get(container, self.state.shared))

    def is_created_with(self, uid: str, container: str) -> bool:
        """Whether this process has given the container its exclusive CPUs for its creation. A plugin of the runtime may
        have changed them then."""
        return (uid, container) in self._created_with

    def unthrottled(self, uid: str) -> bool:
        """Whether the CPU quota of this pod's cgroup is not enforced."""
        return self._unthrottled and uid in self.state.entries

    def _allocation_of(self, uid: str, container: str) -> ContainerAllocation:
        own = container in self.state.of(uid) and self._unthrottled
        return ContainerAllocation(cpuset_cpus=self.cpus_of(uid, container), exclusive_cpus=own)

    # -- the state --------------------------------------------------------------------------------------------------
    def _in_one_cache(self, cpus: frozenset[int]) -> bool:
        """Whether all these CPUs share one last-level cache."""
        machine = self._policy.machine
        return len({machine.by_id[cpu].cache for cpu in cpus}) == 1

    def _count(self) -> None:
        machine, exclusive = self._policy.machine, self.state.exclusive()
        self._metrics.gauge("kubelet_cpu_manager_exclusive_cpu_allocation_count", len(exclusive))
        shared = len(self.state.shared - self._policy.reserved)
        self._metrics.gauge("kubelet_cpu_manager_shared_pool_size_millicores", shared * 1000)
        for node in machine.cpu_nodes:
            count = len(exclusive & machine.of_nodes([node]))
            self._metrics.gauge("kubelet_cpu_manager_allocation_per_numa", count, numa_node=str(node))
