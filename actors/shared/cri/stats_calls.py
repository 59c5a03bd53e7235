"""The calls for statistics of containers. Statistics of sandboxes come from cgroups (actors/shared/stats)."""

from __future__ import annotations

from collections.abc import Mapping

from proto import cri_pb2 as cri

from . import methods, stats_conversion
from .deadlines import Deadlines
from .stats import ContainerStats
from .transport import Transport


class StatsCalls:
    """Resource usage. Every call may raise a CriError; runtimes differ in what they implement."""

    _runtime: Transport
    _deadlines: Deadlines

    async def container_stats(self, container_id: str) -> ContainerStats:
        request = cri.ContainerStatsRequest(container_id=container_id)
        answer = await self._runtime.call(methods.CONTAINER_STATS, request, self._deadlines.request)
        return stats_conversion.container_stats(answer.stats)

    async def list_container_stats(
        self, labels: Mapping[str, str] | None = None, sandbox_id: str = ""
    ) -> list[ContainerStats]:
        """Statistics of the running containers with all of `labels`."""
        selection = cri.ContainerStatsFilter(pod_sandbox_id=sandbox_id, label_selector=labels or {})
        request = cri.ListContainerStatsRequest(filter=selection)
        answer = await self._runtime.call(methods.LIST_CONTAINER_STATS, request, self._deadlines.request)
        return [stats_conversion.container_stats(stats) for stats in answer.stats]
