"""What a chaos run is made of: kinds of fault, the steps that they are drawn as, and what must hold at the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import msgspec

Sort = Literal["calm", "reads", "crashes", "succeeds", "fails"]
LASTING = ("calm", "reads")
"""Sorts of pods that do not end by themselves."""
SETTLE_SECONDS = 90.0
W_contra = TypeVar("W_contra", contravariant=True)
"""What is injured: any agent, or one in a cluster."""


class Step(msgspec.Struct, frozen=True):
    """One fault, so many seconds after the start, or its end (`undo`)."""

    at: float
    kind: str
    name: str = ""
    """Of the pod or the actor."""
    what: str = ""
    """More exactly: the sort of pod, the fault of the actor, what the server does."""
    grace: int | None = None
    undo: bool = False

    def __str__(self) -> str:
        parts = [f"{self.at:6.1f} s ", "end of" if self.undo else "", self.kind, self.name, self.what]
        return " ".join(part for part in [*parts, "" if self.grace is None else f"grace {self.grace}"] if part)


class Drawn(msgspec.Struct, frozen=True):
    """What exactly a kind does this time."""

    name: str = ""
    what: str = ""
    grace: int | None = None
    seconds: float = 0.0
    """Until it is undone; 0: it is not."""


@dataclass
class Draw:
    """What a kind may draw from: chance, and what there is at that moment of the plan."""

    rng: random.Random
    actors: Sequence[str]
    sorts: Sequence[tuple[Sort, float]]
    most: int
    """Pods."""
    pods: dict[str, Sort] = field(default_factory=dict)
    count: int = 0

    @property
    def lasting(self) -> list[str]:
        return [name for name, sort in self.pods.items() if sort in LASTING]


@dataclass(frozen=True)
class Check(Generic[W_contra]):
    """What must hold at the end: `differs` says what does not. It has `seconds` to become so; 0: none."""

    what: str
    differs: Callable[[W_contra], list[str]]
    seconds: float = SETTLE_SECONDS


@dataclass(frozen=True)
class Kind(Generic[W_contra]):
    """A kind of fault. The plan asks `draw`, which is pure, and the run does the rest."""

    name: str
    weight: float
    """How often it comes, relative to the others."""
    draw: Callable[[Draw], Drawn | None]
    """None: it cannot be done now."""
    apply: Callable[[W_contra, Step], None]
    undo: Callable[[W_contra, Step], None] | None = None
    holds: tuple[Check[W_contra], ...] = ()
    needs_server: bool = False
    """It asks the API server for something."""
    takes_server: bool = False
    """Until it is undone there is no API server."""
