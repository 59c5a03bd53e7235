"""/stats/summary, /metrics/resource, /metrics/cadvisor, and the volumes of /metrics. Loaded by the first request."""

from __future__ import annotations

from typing import cast

import msgspec

from actors.http_servers.exposition.text_format import CONTENT_TYPE, Row, simple
from actors.http_servers.serving.handler import Handler
from actors.http_servers.serving.runtime import client_of
from actors.shared.config.agent import Agent
from actors.shared.cri.errors import CriError
from actors.shared.stats import host
from actors.shared.stats.collector import KEPT_SECONDS, Collector
from actors.shared.stats.sample import Sample

from . import cadvisor_metrics, resource_metrics, volume_metrics
from .summary import summary as summarise

FRESH_SECONDS = 1.0
"""metrics-server asks for cpu and memory each 10 to 15 s, and computes rates of what it gets."""


async def summary(handler: Handler) -> None:
    """/stats/summary[?only_cpu_and_memory=true]"""
    small = handler.get_query_argument("only_cpu_and_memory", "") in ("1", "t", "T", "true", "TRUE", "True")
    collector = _collector(handler)
    try:
        sample = await collector.sample(FRESH_SECONDS if small else KEPT_SECONDS, disks=not small)
    except CriError as error:
        handler.refuse(500, f"Internal Error: the runtime does not tell its pods: {error}")
        return
    found = summarise(sample, _agent(handler).node_name, only_cpu_and_memory=small)
    handler.set_header("Content-Type", "application/json")
    await handler.finish(msgspec.json.encode(found))


async def resource(handler: Handler) -> None:
    """/metrics/resource"""
    sample = await _look(handler, FRESH_SECONDS, disks=False)
    text = resource_metrics.text(sample) if sample is not None else ""
    failed: list[Row] = [({}, int(sample is None))]
    text += simple("resource_scrape_error", "gauge", "1 when the figures could not be had", failed)
    text += simple("scrape_error", "gauge", "1 when the figures could not be had", failed)
    _begin(handler)
    await handler.finish(text)


async def cadvisor(handler: Handler) -> None:
    """/metrics/cadvisor"""
    sample = await _look(handler, KEPT_SECONDS, disks=True)
    _begin(handler)
    if sample is not None:
        for chunk in cadvisor_metrics.chunks(sample, host.machine()):
            handler.write(chunk)
            await handler.flush()
    failed: list[Row] = [({}, int(sample is None))]
    handler.write(simple("container_scrape_error", "gauge", "1 when the figures could not be had", failed))
    await handler.finish(simple("machine_scrape_error", "gauge", "1 when they could not be had", [({}, 0)]))


async def volumes(handler: Handler) -> str:
    """The part of /metrics that says how full claims are."""
    sample = await _look(handler, KEPT_SECONDS, disks=True)
    return volume_metrics.text(sample) if sample is not None else ""


async def _look(handler: Handler, most_seconds: float, *, disks: bool) -> Sample | None:
    try:
        return await _collector(handler).sample(most_seconds, disks=disks)
    except CriError as error:
        handler.actor.log.warning("the runtime does not tell its pods: %s", error)
        return None


def _begin(handler: Handler) -> None:
    handler.set_header("Content-Type", CONTENT_TYPE)


def _agent(handler: Handler) -> Agent:
    return cast(Agent, handler.actor.context)


def _collector(handler: Handler) -> Collector:
    settings = handler.application.settings
    found = settings.get("collector")
    if found is None:
        disposable = handler.actor.disposable
        found = settings["collector"] = Collector(
            _agent(handler),
            client_of(handler),
            lambda function, arguments, deadline: disposable(function, arguments, deadline=deadline),
        )
    return cast(Collector, found)
