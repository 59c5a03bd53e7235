"""The calls for statistics and metrics."""

from __future__ import annotations

from collections.abc import Mapping

from proto import cri_pb2 as cri

from . import methods, translate_stats
from .deadlines import Deadlines
from .stats import ContainerStats, MetricDescriptor, SandboxMetrics, SandboxStats
from .transport import Transport


class StatsCalls:
    """Resource usage. Every call may raise a CriError; runtimes differ in what they implement."""

    _runtime: Transport
    _deadlines: Deadlines

    async def container_stats(self, container_id: str) -> ContainerStats:
        request = cri.ContainerStatsRequest(container_id=container_id)
        answer = await self._runtime.call(methods.CONTAINER_STATS, request, self._deadlines.request)
        return translate_stats.container_stats(answer.stats)

    async def list_container_stats(
        self, labels: Mapping[str, str] | None = None, sandbox_id: str = ""
    ) -> list[ContainerStats]:
        """Statistics of the running containers with all of `labels`."""
        selection = cri.ContainerStatsFilter(pod_sandbox_id=sandbox_id, label_selector=labels or {})
        request = cri.ListContainerStatsRequest(filter=selection)
        answer = await self._runtime.call(methods.LIST_CONTAINER_STATS, request, self._deadlines.request)
        return [translate_stats.container_stats(stats) for stats in answer.stats]

    async def pod_sandbox_stats(self, sandbox_id: str) -> SandboxStats:
        request = cri.PodSandboxStatsRequest(pod_sandbox_id=sandbox_id)
        answer = await self._runtime.call(methods.POD_SANDBOX_STATS, request, self._deadlines.request)
        return translate_stats.sandbox_stats(answer.stats)

    async def list_pod_sandbox_stats(self, labels: Mapping[str, str] | None = None) -> list[SandboxStats]:
        """Costly on containerd 1.6 (over a second with a hundred pods)."""
        request = cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(label_selector=labels or {}))
        answer = await self._runtime.call(methods.LIST_POD_SANDBOX_STATS, request, self._deadlines.request)
        return [translate_stats.sandbox_stats(stats) for stats in answer.stats]

    async def list_metric_descriptors(self) -> list[MetricDescriptor]:
        request = cri.ListMetricDescriptorsRequest()
        answer = await self._runtime.call(methods.LIST_METRIC_DESCRIPTORS, request, self._deadlines.request)
        return [translate_stats.metric_descriptor(descriptor) for descriptor in answer.descriptors]

    async def list_pod_sandbox_metrics(self) -> list[SandboxMetrics]:
        request = cri.ListPodSandboxMetricsRequest()
        answer = await self._runtime.call(methods.LIST_POD_SANDBOX_METRICS, request, self._deadlines.request)
        return [translate_stats.sandbox_metrics(metrics) for metrics in answer.pod_metrics]
