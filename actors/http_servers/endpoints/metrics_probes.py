"""/metrics/probes: what the prober counts, through its restarts."""

from __future__ import annotations

import time
from typing import Final

from actors.http_servers.exposition.actor_metrics import text
from actors.http_servers.exposition.scrape import find_tree, scrape_actor
from actors.http_servers.exposition.text_format import CONTENT_TYPE, Row, simple
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import Handler
from actors.prober.messages import PROBER

PROBES: Final = "prober_probe_"


async def get(handler: Handler) -> None:
    state = handler.state
    await scrape_actor(state.actor, PROBER, state.actor_metrics)
    page = text([sample for sample in state.actor_metrics.samples() if sample.name.startswith(PROBES)])
    tree = await find_tree(state.actor)
    handler.set_header("Content-Type", CONTENT_TYPE)
    if tree is not None:
        started: list[Row] = [({}, round(time.time() - tree.uptime, 2))]
        page += simple("process_start_time_seconds", "gauge", "start of the agent since 1970", started).encode()
    await handler.finish(page)


ENDPOINT = Endpoint(
    paths=("/metrics/probes",), answers={"GET": get}, subresources=("metrics",), on_read_only_server=True
)
