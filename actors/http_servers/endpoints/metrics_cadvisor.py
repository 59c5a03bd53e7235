"""/metrics/cadvisor: container_* and machine_* metrics."""

from __future__ import annotations

from actors.http_servers.serving.endpoint import metrics_endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.metrics_page import MetricsPage
from actors.http_servers.usage.sample import CACHED_SECONDS, take_sample


async def get(handler: ServerHandler) -> None:
    from actors.http_servers.usage import cadvisor_metrics
    from actors.shared.stats import host

    sample = await take_sample(handler, CACHED_SECONDS, disks=True)
    page = MetricsPage(handler)
    if sample is not None:
        processes = await handler.state.collector.processes(sample)
        images = await handler.state.collector.sandbox_images(sample)
        for chunk in cadvisor_metrics.chunks(sample, host.machine(), processes, images):
            await page.write(chunk)
    await page.finish(cadvisor_metrics.errors(failed=sample is None))


ENDPOINT = metrics_endpoint("/metrics/cadvisor", {"GET": get})
