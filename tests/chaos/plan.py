"""What a chaos run does, second by second. Pure: the same seed gives the same run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from supervision.protocol import Fault

Kind = Literal["fault", "add", "edit", "remove", "runtime", "fork_server"]
FAULTS: Sequence[tuple[Fault, float]] = (
    ("crash", 6), ("exception", 4), ("exit", 1), ("hang", 2), ("stop", 2), ("leak", 1), ("slow", 2), ("drop", 1),
)  # fmt: skip
"""With how often each comes, relative to the others."""
SEEN: frozenset[Fault] = frozenset({"crash", "exception", "exit", "hang", "stop"})
"""Those that end the actor, and so leave an incident."""
MOST_PODS = 10


class Step(msgspec.Struct, frozen=True):
    """One thing done, so many seconds after the start."""

    at: float
    kind: Kind
    name: str
    fault: Fault | None = None


def plan(seed: int, duration: float, actors: Sequence[str]) -> Iterator[Step]:
    """The steps of a run, in order. The last quarter minute is left for everything to become well."""
    rng = random.Random(seed)
    at, count = 1.0, 0
    pods: list[str] = []
    while at < duration - 15:
        draw = rng.random()
        if len(pods) < 3 or (draw < 0.3 and len(pods) < MOST_PODS):
            count += 1
            pods.append(f"pod-{count}")
            yield Step(at, "add", pods[-1])
        elif draw < 0.45:
            yield Step(at, "remove", pods.pop(rng.randrange(len(pods))))
        elif draw < 0.5:
            yield Step(at, "edit", rng.choice(pods))
        elif draw < 0.53:
            yield Step(at, "runtime", "container_runtime")
        elif draw < 0.55:
            yield Step(at, "fork_server", "fork_server")
        else:
            fault = rng.choices([fault for fault, _ in FAULTS], [weight for _, weight in FAULTS])[0]
            yield Step(at, "fault", rng.choice(actors), fault)
        at += rng.uniform(0.3, 2.5)
