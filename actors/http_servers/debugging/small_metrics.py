"""/metrics/probes and /metrics/slis."""

from __future__ import annotations

import time
from collections import Counter

from actors.http_servers.exposition import actor_numbers
from actors.http_servers.exposition.text_format import CONTENT_TYPE, Row, simple
from actors.http_servers.serving import health_checks
from actors.http_servers.serving.handler import SCRAPE_SECONDS, Handler, find_tree
from actors.prober.messages import PROBER
from supervision.actor import AskError
from supervision.protocol import GetMetrics, MetricsSnapshot

PROBES = "prober_probe_"


async def probes(handler: Handler) -> None:
    """What the prober counts, through its restarts."""
    numbers: actor_numbers.Numbers = handler.application.settings["numbers"]
    try:
        numbers.take(await handler.actor.ask(PROBER, GetMetrics(), MetricsSnapshot, timeout=SCRAPE_SECONDS))
    except AskError:
        pass  # it is being replaced: its last numbers
    text = actor_numbers.text([sample for sample in numbers.samples() if sample.name.startswith(PROBES)])
    tree = await find_tree(handler.actor)
    handler.set_header("Content-Type", CONTENT_TYPE)
    if tree is not None:
        started: list[Row] = [({}, round(time.time() - tree.uptime, 2))]
        text += simple("process_start_time_seconds", "gauge", "start of the agent since 1970", started).encode()
    await handler.finish(text)


async def slis(handler: Handler) -> None:
    """KEP-3466: each check as a gauge, and how often it was well and not."""
    results = health_checks.results(await find_tree(handler.actor))
    counts: Counter[tuple[str, str]] = handler.application.settings.setdefault("checked", Counter())
    counts.update((name, "error" if failure else "success") for name, failure in results.items())
    now: list[Row] = [({"name": name, "type": "healthz"}, int(not failure)) for name, failure in results.items()]
    total: list[Row] = [
        ({"name": name, "status": status, "type": "healthz"}, count) for (name, status), count in sorted(counts.items())
    ]
    handler.set_header("Content-Type", CONTENT_TYPE)
    handler.write(simple("kubernetes_healthcheck", "gauge", "whether the check is well", now))
    await handler.finish(simple("kubernetes_healthchecks_total", "counter", "how the checks went", total))


async def reset_slis(handler: Handler) -> None:
    """Forgets the counts."""
    handler.application.settings.pop("checked", None)
    await handler.finish("metrics reset\n")
