"""An actor is injured by the agent's own `supervise inject`; its incident says so."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import get_args

from supervision.protocol import Fault

from ..invariants import Injected, badly_reported
from ..model import Check, Draw, Drawn, Kind, Step
from ..target import Target

FAULTS: Sequence[tuple[Fault, float]] = (
    ("crash", 6), ("exception", 4), ("exit", 1), ("hang", 2), ("stop", 2), ("leak", 1), ("slow", 2), ("drop", 1),
)  # fmt: skip
"""With how often each comes, relative to the others."""
LASTS = {"slow": 5.0, "drop": 5.0, "leak": 5.0}
"""Seconds of those that go on for a while."""


def _draw(draw: Draw) -> Drawn:
    fault = draw.rng.choices([fault for fault, _ in FAULTS], [weight for _, weight in FAULTS])[0]
    return Drawn(draw.rng.choice(draw.actors), fault)


def _inject(target: Target, step: Step) -> None:
    fault = next(one for one in get_args(Fault) if one == step.what)
    actor = target.node.actors()[step.name]
    assert actor.pid, f"{step.name} is just being replaced"
    now = time.time()
    target.node.inject(step.name, fault, seconds=LASTS.get(fault, 0.0))
    target.record.injected.append(Injected(now, step.name, actor.pid, fault))


def _badly_reported(target: Target) -> list[str]:
    record = target.record
    record.look(target.node)
    incidents = sorted(record.incidents.values(), key=lambda one: one.time)
    return badly_reported(record.injected, incidents, record.killed)


REPORTED: Check[Target] = Check("each fault has one incident, and nothing else has any", _badly_reported, 0)
KINDS: tuple[Kind[Target], ...] = (Kind("fault", 34, _draw, _inject, holds=(REPORTED,)),)
