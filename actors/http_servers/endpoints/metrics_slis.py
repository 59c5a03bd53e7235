"""/metrics/slis: each health check as a gauge, and counts of its results (KEP-3466)."""

from __future__ import annotations

from actors.http_servers.exposition.actor_metrics import text
from actors.http_servers.exposition.program_metrics import start_sample
from actors.http_servers.exposition.scrape import find_tree
from actors.http_servers.serving import health_checks
from actors.http_servers.serving.endpoint import metrics_endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.metrics_page import MetricsPage
from supervision.protocol import MetricSample


async def get(handler: ServerHandler) -> None:
    tree = await find_tree(handler.state.actor)
    results = health_checks.results(tree, handler.state.sync_loop)
    counts = handler.state.check_results
    counts.update((name, "error" if failure else "success") for name, failure in results.items())
    now = [
        MetricSample("gauge", "kubernetes_healthcheck", {"name": name, "type": "healthz"}, int(not failure))
        for name, failure in results.items()
    ]
    total = [
        MetricSample(
            "counter", "kubernetes_healthchecks_total", {"name": name, "status": status, "type": "healthz"}, count
        )
        for (name, status), count in sorted(counts.items())
    ]
    started = [start_sample(tree)] if tree is not None else []
    await MetricsPage(handler).finish(text([*now, *total, *started]))


async def delete(handler: ServerHandler) -> None:
    """Reset the counts."""
    handler.state.reset_check_results()
    await handler.finish("metrics reset\n")


ENDPOINT = metrics_endpoint("/metrics/slis", {"GET": get, "DELETE": delete})
