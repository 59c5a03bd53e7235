"""/metrics/resource, for metrics-server and autoscalers (KEP-727)."""

from __future__ import annotations

from actors.http_servers.serving.endpoint import metrics_endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.metrics_page import MetricsPage
from actors.http_servers.usage.sample import FRESH_SECONDS, take_sample


async def get(handler: ServerHandler) -> None:
    from actors.http_servers.usage import resource_metrics

    sample = await take_sample(handler, FRESH_SECONDS, disks=False)
    text = resource_metrics.text(sample) if sample is not None else ""
    text += resource_metrics.error(failed=sample is None)
    await MetricsPage(handler).finish(text)


ENDPOINT = metrics_endpoint("/metrics/resource", {"GET": get})
