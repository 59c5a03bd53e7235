"""/metrics: the metrics of all actors, and the usage of the volumes of claims."""

from __future__ import annotations

from collections.abc import Iterable

from actors.http_servers.exposition.actor_metrics import text
from actors.http_servers.exposition.scrape import scrape
from actors.http_servers.serving.endpoint import metrics_endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.metrics_page import MetricsPage
from actors.http_servers.usage import log_metrics
from actors.http_servers.usage.sample import CACHED_SECONDS, take_sample
from actors.shared.stats.disk import has_claims
from supervision.protocol import MetricSample


async def get(handler: ServerHandler) -> None:
    state = handler.state
    samples = await scrape(state.actor, state.actor_metrics, state.processes)
    samples += log_metrics.samples(state.agent.pod_logs_dir)
    samples += await _volumes(handler)
    await MetricsPage(handler).finish(text(samples))


async def _volumes(handler: ServerHandler) -> Iterable[MetricSample]:
    """The series of claims. Without a claim the runtime is not asked and no module is loaded."""
    if not has_claims(handler.state.agent.pods_dir):
        return ()
    from actors.http_servers.usage import volume_metrics

    sample = await take_sample(handler, CACHED_SECONDS, disks=True)
    return volume_metrics.samples(sample) if sample is not None else ()


ENDPOINT = metrics_endpoint("/metrics", {"GET": get})
