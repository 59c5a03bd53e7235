"""What the parts of the container manager share."""

from __future__ import annotations

from dataclasses import dataclass

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

from .node_resources import NodeResourceTotals


@dataclass(frozen=True)
class ManagerContext:
    """`host`: the root directory of a fake host; '' for this one."""

    actor: Actor
    agent: Agent
    totals: NodeResourceTotals
    warnings: RepeatedWarnings
    host: str = ""
