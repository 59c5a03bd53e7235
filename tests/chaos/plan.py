"""What a chaos run does, second by second. Pure: the same seed gives the same run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from .model import Draw, Kind, Sort, Step

FEWEST_PODS = 3
QUIET_SECONDS = 15.0
"""At the end nothing more is done, so that all may become well."""


def plan(
    seed: int,
    duration: float,
    kinds: Sequence[Kind[Any]],
    actors: Sequence[str],
    sorts: Sequence[tuple[Sort, float]],
    most: int,
) -> Iterator[Step]:
    """The steps of a run, in order; what is to be undone is undone at its end. `most`: pods at a time."""
    draw = Draw(random.Random(seed), actors, sorts, most)
    due: list[Step] = []
    at, end = 1.0, duration - QUIET_SECONDS
    while at < end:
        yield from _ended(due, at)
        away = any(_kind(kinds, one.kind).takes_server for one in due)
        kind = _next(draw, [one for one in kinds if not (away and (one.needs_server or one.takes_server))])
        if (drawn := kind.draw(draw)) is not None:
            step = Step(at, kind.name, drawn.name, drawn.what, drawn.grace)
            yield step
            if drawn.seconds:
                ends = min(at + drawn.seconds, end)
                due.append(Step(ends, kind.name, drawn.name, drawn.what, undo=True))
        at += draw.rng.uniform(0.3, 2.5)
    yield from _ended(due, duration)


def _ended(due: list[Step], at: float) -> Iterator[Step]:
    """The ends that are due by then, which are no longer due."""
    for one in sorted(due, key=lambda step: step.at):
        if one.at <= at:
            due.remove(one)
            yield one


def _kind(kinds: Sequence[Kind[Any]], name: str) -> Kind[Any]:
    return next(one for one in kinds if one.name == name)


def _next(draw: Draw, kinds: Sequence[Kind[Any]]) -> Kind[Any]:
    """A pod where there are too few, and else as chance has it."""
    few = [one for one in kinds if one.name == "create"] if len(draw.pods) < FEWEST_PODS else []
    return few[0] if few else draw.rng.choices(kinds, [one.weight for one in kinds])[0]
