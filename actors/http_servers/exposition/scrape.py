"""Collects the metrics of the actors."""

from __future__ import annotations

import asyncio
from typing import Final

from supervision.actor import Actor, AskError
from supervision.addresses import ActorName
from supervision.metrics import installed
from supervision.protocol import FORK_SERVER, GetMetrics, GetTree, MetricSample, Tree

from .actor_metrics import ActorMetrics, zeros
from .program_metrics import AgentProcesses, tree_samples, version_samples

SCRAPE_SECONDS: Final = 1.0


async def find_tree(actor: Actor, *, memory: bool = False) -> Tree | None:
    """The tree; None if the fork server does not answer in time, which is counted. `memory`: with new figures of it."""
    try:
        return await actor.ask(FORK_SERVER, GetTree(memory=memory), timeout=SCRAPE_SECONDS)
    except AskError:
        _count_failure(actor, FORK_SERVER)
        return None


async def scrape(actor: Actor, metrics: ActorMetrics, processes: AgentProcesses) -> list[MetricSample]:
    """The metrics of every actor and of the tree. An actor that does not answer in time keeps its last metrics."""
    tree = await find_tree(actor, memory=True)
    if tree is None:
        metrics.update(actor.metrics.snapshot(actor.name, actor.incarnation))
        return [*zeros(installed().values()), *metrics.samples(), *version_samples()]
    names = [
        ActorName(state.name)
        for state in tree.actors
        if state.state == "running" and state.kind != "program" and state.name != actor.name
    ]
    await asyncio.gather(*(scrape_actor(actor, name, metrics) for name in names))
    metrics.update(actor.metrics.snapshot(actor.name, actor.incarnation))
    used = processes.samples(tree)
    return [*zeros(installed().values()), *metrics.samples(), *tree_samples(tree), *used, *version_samples()]


async def scrape_actor(actor: Actor, name: ActorName, metrics: ActorMetrics) -> None:
    """Update the metrics of one actor; a failure is counted."""
    try:
        metrics.update(await actor.ask(name, GetMetrics(), timeout=SCRAPE_SECONDS))
    except AskError:
        _count_failure(actor, name)


def _count_failure(actor: Actor, name: ActorName) -> None:
    actor.metrics.count("troupelet_scrape_failures_total", actor=name)
