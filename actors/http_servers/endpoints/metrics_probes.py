"""/metrics/probes: the prober's counters, continued over its restarts."""

from __future__ import annotations

from typing import Final

from actors.http_servers.exposition.actor_metrics import text
from actors.http_servers.exposition.program_metrics import start_sample
from actors.http_servers.exposition.scrape import find_tree, scrape_actor
from actors.http_servers.serving.endpoint import metrics_endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.metrics_page import MetricsPage
from actors.prober.messages import PROBER

PROBES: Final = "prober_probe_"


async def get(handler: ServerHandler) -> None:
    state = handler.state
    await scrape_actor(state.actor, PROBER, state.actor_metrics)
    probes = [sample for sample in state.actor_metrics.samples() if sample.name.startswith(PROBES)]
    tree = await find_tree(state.actor)
    started = [start_sample(tree)] if tree is not None else []
    await MetricsPage(handler).finish(text([*probes, *started]))


ENDPOINT = metrics_endpoint("/metrics/probes", {"GET": get})
