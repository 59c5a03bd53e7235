"""What a chaos run of a joined agent does, second by second. Pure: the same seed gives the same run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from supervision.protocol import Fault

from .plan import FAULTS

Kind = Literal[
    "fault",
    "server",
    "create",
    "delete",
    "label",
    "secret",
    "toggle",
    "kill",
    "exec",
    "runtime",
    "fork_server",
    "down",
    "up",
]
Sort = Literal["calm", "reads", "crashes", "succeeds", "fails"]
SORTS: Sequence[tuple[Sort, float]] = (("calm", 4), ("reads", 3), ("crashes", 1), ("succeeds", 1), ("fails", 1))
"""`calm` has probes, `reads` a secret, a config map and its own labels in files; the others end."""
LASTING = ("calm", "reads")
SERVER_FAULTS: dict[str, tuple[dict[str, object], ...]] = {
    "slow": ({"kind": "delay", "seconds": 0.7, "times": 20},),
    "too many requests": ({"kind": "status", "code": 429, "retry_after": 1, "times": 6},),
    "unavailable": ({"kind": "status", "code": 503, "times": 15},),
    "broken": ({"kind": "status", "code": 500, "verb": "patch", "times": 8},),
    "conflicts": ({"kind": "conflict", "verb": "patch", "times": 8},),
    "answers lost": ({"kind": "lost", "verb": "patch", "times": 6}, {"kind": "lost", "verb": "delete", "times": 3}),
    "hung writes": ({"kind": "hang", "verb": "patch", "times": 2},),
    "watches cut": ({"kind": "cut", "verb": "watch", "seconds": 0.3, "times": 8},),
    "watches refused": ({"kind": "status", "verb": "watch", "code": 503, "times": 6},),
    "stale lists": (
        {"kind": "stale", "verb": "list", "revisions": 8, "times": 2},
        {"kind": "cut", "verb": "watch", "seconds": 0.1, "times": 3},
    ),
    "connections dropped": (),
    "history forgotten": (),
}
"""What the server is told to do to the node; the last two are orders of their own."""
WEIGHTS: dict[Kind, float] = {
    "fault": 34, "server": 10, "create": 16, "delete": 11, "label": 4, "secret": 4,
    "toggle": 5, "kill": 4, "exec": 4, "runtime": 2, "fork_server": 2, "down": 2,
}  # fmt: skip
WITHOUT_SERVER: tuple[Kind, ...] = ("fault", "toggle", "kill", "runtime", "fork_server")
AWAY_SECONDS = (2.0, 6.0, 20.0)
GRACES = (None, None, 1, 0)
"""None: that of the pod. 0: by force."""
MOST_PODS, FEWEST_PODS = 8, 3
QUIET_SECONDS = 12.0
"""At the end nothing more is done, so that all may become well."""


class JoinedStep(msgspec.Struct, frozen=True):
    """One thing done, so many seconds after the start."""

    at: float
    kind: Kind
    name: str = ""
    """Of the pod, the actor, or what the server does."""
    sort: Sort | None = None
    fault: Fault | None = None
    grace: int | None = None

    def __str__(self) -> str:
        more = [self.sort, self.fault, f"grace {self.grace}" if self.grace is not None else None]
        return " ".join([f"{self.at:6.1f} s  {self.kind} {self.name}", *(str(one) for one in more if one)])


def joined_plan(seed: int, duration: float, actors: Sequence[str]) -> Iterator[JoinedStep]:
    """The steps of a run, in order; the server is up at its end."""
    rng = random.Random(seed)
    at, count, back = 1.0, 0, 0.0
    pods: dict[str, Sort] = {}
    while at < duration - QUIET_SECONDS:
        if back and at >= back:
            yield JoinedStep(back, "up", "server")
            back = 0.0
        kind = _kind(rng, [name for name, sort in pods.items() if sort in LASTING], len(pods), away=bool(back))
        if kind == "create":
            count += 1
            pods[f"pod-{count}"] = rng.choices([sort for sort, _ in SORTS], [weight for _, weight in SORTS])[0]
            yield JoinedStep(at, "create", f"pod-{count}", sort=pods[f"pod-{count}"])
        elif kind == "down":
            back = min(at + rng.choice(AWAY_SECONDS), duration - QUIET_SECONDS)
            yield JoinedStep(at, "down", rng.choice(("killed", "stopped")))
        elif kind is not None:
            step = _step(rng, at, kind, pods, actors)
            if kind == "delete":
                del pods[step.name]
            yield step
        at += rng.uniform(0.3, 2.5)
    if back:
        yield JoinedStep(at, "up", "server")


def _kind(rng: random.Random, lasting: Sequence[str], pods: int, *, away: bool) -> Kind | None:
    """What comes next; None when it cannot be done now."""
    if not away and pods < FEWEST_PODS:
        return "create"
    kind = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if (away and kind not in WITHOUT_SERVER) or (kind == "create" and pods >= MOST_PODS):
        return None
    return None if kind in ("label", "toggle", "kill", "exec") and not lasting else kind


def _step(rng: random.Random, at: float, kind: Kind, pods: dict[str, Sort], actors: Sequence[str]) -> JoinedStep:
    if kind == "fault":
        fault = rng.choices([fault for fault, _ in FAULTS], [weight for _, weight in FAULTS])[0]
        return JoinedStep(at, kind, rng.choice(actors), fault=fault)
    if kind == "server":
        return JoinedStep(at, kind, rng.choice(list(SERVER_FAULTS)))
    if kind == "delete":
        return JoinedStep(at, kind, rng.choice(list(pods)), grace=rng.choice(GRACES))
    if kind in ("label", "toggle", "kill", "exec"):
        return JoinedStep(at, kind, rng.choice([name for name, sort in pods.items() if sort in LASTING]))
    return JoinedStep(at, kind, kind)
