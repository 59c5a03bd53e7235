"""The topology manager: allocates a pod's hardware at admission, aligned by topologyManagerPolicy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec

from actors.shared.hardware.allocation import NOTHING, ContainerAllocation, combined
from actors.shared.hardware.exclusive import Exclusive, together
from actors.shared.hardware.hints import Hints, TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from supervision.actor import AskError
from supervision.metrics import Metrics

from .hint_merger import NONE, SINGLE, Numa, decide
from .provider import AllocationError, HintProvider

ALIGNED: Final = "kubelet_container_aligned_compute_resources_count"
NOT_ALIGNED: Final = "kubelet_container_aligned_compute_resources_failure_count"
POD: Final = "pod"


class TopologyAffinityError(AllocationError):
    """The policy refuses the merged affinity."""

    def __init__(self) -> None:
        super().__init__("Resources cannot be allocated with Topology locality", "TopologyAffinityError")


class TopologySettings(msgspec.Struct, frozen=True):
    """The configuration, and the facts about the machine that it needs."""

    policy: str = NONE
    scope: str = "container"
    numa: Numa = Numa(())


class _Reservation(NamedTuple):
    """The share of one container by provider; None if the provider has only reserved it."""

    container: Container
    affinity: TopologyHint
    shares: list[ContainerAllocation | None]


class PodHardware:
    """Asks all providers for hints, merges them, and has the providers allocate. With a policy, pods are handled one at
    a time, so that no other pod takes hardware between a pod's hints and its reservations. Device plugins are asked
    later, because their devices are only reserved at first: a plugin that does not answer delays only the pods that
    need it.
    """

    def __init__(
        self,
        metrics: Metrics,
        providers: Sequence[HintProvider] = (),
        settings: TopologySettings = TopologySettings(),  # noqa: B008 - immutable
        unthrottled: Callable[[str], bool] | None = None,
    ) -> None:
        """`unthrottled`: whether the CPU quota of the pod with this UID is not enforced."""
        self._metrics, self._providers, self._settings = metrics, list(providers), settings
        self.unthrottled = unthrottled or (lambda uid: False)
        self._one_pod = asyncio.Lock()

    def prepares(self, pod: Pod) -> bool:
        """Whether `prepare` must be called before each container of this pod is created."""
        return any(provider.prepares(pod) for provider in self._providers)

    # -- admission --------------------------------------------------------------------------------------------------
    async def allocate(
        self, pod: Pod, *, running: bool, awaited: Callable[[], bool] = lambda: True
    ) -> dict[str, ContainerAllocation]:
        """Allocate the hardware of each container of the pod; returns it by name. `awaited`: whether a caller still
        waits for it when its turn comes. Raises AllocationError, AskError, OSError. Some containers may then have
        hardware, so the caller releases the pod or asks again."""
        if not self._providers:
            return {}
        with self._measure_admission():
            if self._settings.policy == NONE:
                found = await self._allocate(pod, running=running)
            else:
                async with self._one_pod:
                    if not awaited():
                        raise AskError("no caller waits for it any more")
                    reservations = await self._reserve_aligned(pod, running=running)
                found = {
                    one.container.name: await self._complete_reservation(pod, one, running=running)
                    for one in reservations
                }
                self._count_aligned(ALIGNED, 1 if self._settings.scope == POD else len(reservations))
        return {name: allocation for name, allocation in found.items() if allocation != NOTHING}

    @contextmanager
    def _measure_admission(self) -> Iterator[None]:
        started_at = time.monotonic()
        self._metrics.count("kubelet_topology_manager_admission_requests_total")
        try:
            yield
        except AllocationError:
            self._metrics.count("kubelet_topology_manager_admission_errors_total")
            raise
        finally:
            milliseconds = (time.monotonic() - started_at) * 1000
            self._metrics.observe("kubelet_topology_manager_admission_duration_ms", milliseconds)

    async def _reserve_aligned(self, pod: Pod, *, running: bool) -> list[_Reservation]:
        """Allocate aligned resources for all containers. Raises AllocationError, AskError, OSError."""
        whole = None
        if self._settings.scope == POD:
            whole = self._affinity([await provider.pod_hints(pod) for provider in self._providers])
        found = []
        for container in _containers(pod):
            affinity = whole
            if affinity is None:
                affinity = self._affinity([await provider.hints(pod, container) for provider in self._providers])
            shares = [await provider.reserve(pod, container, affinity, running=running) for provider in self._providers]
            found.append(_Reservation(container, affinity, shares))
        return found

    async def _complete_reservation(self, pod: Pod, reservation: _Reservation, *, running: bool) -> ContainerAllocation:
        """Raises AllocationError, AskError, OSError."""
        container, affinity, shares = reservation
        return combined(
            [
                share if share is not None else await provider.allocate(pod, container, affinity, running=running)
                for provider, share in zip(self._providers, shares, strict=True)
            ]
        )

    def _affinity(self, hints: Sequence[Hints]) -> TopologyHint:
        """Raises TopologyAffinityError."""
        found = decide(self._settings.policy, self._settings.numa, hints)
        if not found.admitted:
            self._count_aligned(NOT_ALIGNED)
            raise TopologyAffinityError
        return found.affinity

    def _count_aligned(self, metric: str, times: int = 1) -> None:
        """Only single-numa-node guarantees alignment."""
        if self._settings.policy == SINGLE:
            self._metrics.count(metric, times, scope=self._settings.scope, boundary="numa_node")

    async def _allocate(self, pod: Pod, *, running: bool) -> dict[str, ContainerAllocation]:
        """Allocate without regard to affinity. Raises AllocationError, AskError, OSError."""
        return {
            one.name: combined(
                [await provider.allocate(pod, one, None, running=running) for provider in self._providers]
            )
            for one in _containers(pod)
        }

    def restore(self, pod: Pod) -> None:
        """Allocate again, without regard to affinity, the hardware of this running pod that no state file has. Raises
        AllocationError, OSError."""
        for container in _containers(pod):
            for provider in self._providers:
                provider.restore(pod, container)

    # -- afterwards -------------------------------------------------------------------------------------------------
    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        """The hardware of a container that is about to be created. `ended`: earlier init containers. Raises
        AllocationError, AskError."""
        return combined([await provider.prepare(uid, container, ended) for provider in self._providers])

    def exclusive(self) -> Exclusive:
        """The exclusive hardware of containers, of all providers."""
        return together(provider.exclusive() for provider in self._providers)

    def served(self, uid: str) -> frozenset[str]:
        """Extended resources that are allocated to this pod."""
        return frozenset[str]().union(*(provider.served(uid) for provider in self._providers))

    def release(self, uid: str) -> None:
        """Free all hardware of the pod."""
        for provider in self._providers:
            provider.release(uid)

    def release_unknown(self, known: Callable[[str], bool]) -> None:
        """Release pods that no worker has: they ended while this process was down."""
        for provider in self._providers:
            for uid in provider.uids():
                if not known(uid):
                    provider.forget(uid)


def _containers(pod: Pod) -> list[Container]:
    """The containers in the order of their allocation."""
    return [*pod.spec.initContainers, *pod.spec.containers]
