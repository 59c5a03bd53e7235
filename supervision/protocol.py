"""What the engine's own parts say to each other: stage, supervisors, actors, command line.

Every one is an ordinary message on the ordinary wire. `STAGE` is the name of the stage process, `ROOT` that of the root
supervisor.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from .message import Message

STAGE = "stage"
ROOT = "root"

Cause = Literal["exit", "signal", "exception", "hang", "memory", "start_timeout", "stopped", "parent", "stage"]


class Hello(Message, frozen=True):
    """An actor has started and wants the state that the receiver feeds it."""

    name: str
    incarnation: int
    coalesce: ClassVar[tuple[str, ...]] = ("name",)


class GetMetrics(Message, frozen=True):
    """Asks any actor for its numbers; answered with MetricsSnapshot."""


class Sample(msgspec.Struct, frozen=True):
    """One series. For a histogram `value` is the sum; `counts` has one entry per bound and one for +Inf (not running)."""

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    labels: dict[str, str]
    value: float
    bounds: list[float] = []
    counts: list[int] = []


class MetricsSnapshot(Message, frozen=True):
    """The numbers of one incarnation of an actor."""

    actor: str
    incarnation: int
    samples: list[Sample]


# -- supervisor to stage ----------------------------------------------------------------------------------------------
class Spawn(Message, frozen=True):
    """Fork the child `name` of the tree (its spec was known before the first fork). The sender becomes its parent."""

    name: str


class Stop(Message, frozen=True):
    """End the process of `name`: ask with ActorExitRequest, SIGKILL after `budget` seconds (0: at once). Its subtree,
    if it is a supervisor that is killed, is ended with it."""

    name: str
    budget: float
    cause: Cause = "stopped"


# -- stage to supervisor ----------------------------------------------------------------------------------------------
class Started(Message, frozen=True):
    """The child is in service: its on_start has ended and its name means the new incarnation."""

    name: str
    incarnation: int
    pid: int
    seconds: float
    """From the order to fork until in service."""


class Exited(Message, frozen=True):
    """A child's process has ended and was reaped."""

    name: str
    incarnation: int
    pid: int
    status: int
    """As os.waitpid gives it."""
    cause: Cause
    """What ended it, as far as the stage knows; `stopped` when its supervisor ordered it."""
    message: str = ""
    """Type of the message in hand, or ''."""
    detail: str = ""
    """Traceback, hang stack, or memory figures; never a message body."""
    uptime: float = 0.0
