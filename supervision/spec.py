"""Child specs: what a supervisor is told of its children. Words and meaning are those of Erlang/OTP's supervisor.

The tree (names, classes, arguments) is code, written by the application as nested `ChildSpec`s; the policy (restart
type, intensity, budgets, ceilings) is data, read from the policy file and joined to it by name (`policy.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from .addresses import ActorName
from .message import Message
from .protocol import FORK_SERVER, ROOT

Restart = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
Significance = Literal["none", "any_significant", "all_significant"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one actor is supervised. etc/supervision.yaml, which is read into this, says more; limits: `policy.py`."""

    restart: Restart = "permanent"
    shutdown_seconds: float = 5.0
    """Time that it has to end after it was asked; then SIGKILL. 0: SIGKILL at once. A supervisor has that of its
    children in addition."""
    start_seconds: float = 10.0
    """From the order to fork until in service; then SIGKILL, and it counts as a failure."""
    heartbeat_seconds: float = 10.0
    """Silence after which the actor counts as hung; 0: never."""
    busy_seconds: float = 0.0
    """A handler, or a step of a coroutine, that holds the actor's loop for longer counts as hung; 0: only silence does.
    Noticed sooner than by heartbeat, at no cost for the actor."""
    memory_mib: int = 256
    """Ceiling of its memory; 0: none."""
    significant: bool = False
    """Its own orderly end counts for its supervisor's auto_shutdown."""
    max_restarts: int = 8
    """When this actor is restarted more often than that within `period_seconds`, its supervisor gives up."""
    period_seconds: float = 30.0
    backoff_seconds: float = 0.05
    """Pause before the second consecutive restart; the first comes at once, each further one waits twice as long."""
    backoff_max_seconds: float = 30.0
    backoff_reset_seconds: float = 10.0
    """Uptime after which the count of consecutive restarts begins again."""
    # the rest is for supervisors only
    strategy: Strategy = "one_for_one"
    total_restarts: int = 0
    """OTP's intensity: it gives up when all its children together are restarted more often than that; 0: no limit."""
    total_period_seconds: float = 60.0
    auto_shutdown: Significance = "none"


class SetPolicies(Message, frozen=True):
    """Tells the fork server to supervise by these policies from now on. It tells the supervisors.

    What a policy says of starting and of heartbeats shorter than an actor's own counts from its next incarnation.
    """

    policies: dict[str, Policy]
    """By full name; an actor that is missing keeps the one it has."""


class ProgramProbe(msgspec.Struct, frozen=True, kw_only=True):
    """The heartbeat of a program: how to find out that it answers.

    A program that does not answer for its policy's `heartbeat_seconds` is sent SIGUSR1 (a Go program then writes its
    stacks to its log), killed and restarted, and the incident says `hang`.
    """

    function: str
    """`module:function`, run in a disposable process; it returns whether the program answered."""
    arguments: dict[str, Any] = {}
    interval_seconds: float = 5.0
    timeout_seconds: float = 2.0
    """The time that the function takes at most."""


SUPERVISOR = "supervision.supervisor.Supervisor"
"""The class of a supervisor that has none of its own."""


class ChildSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One box of the tree."""

    name: str
    """Last part of the actor's name, or `worker/0`: unique among its siblings."""
    actor: str = ""
    """The actor's class as `module:Class`; empty for a program and for a plain supervisor."""
    program: tuple[str, ...] = ()
    """argv of a program that is supervised as it is, in place of an actor."""
    environment: dict[str, str] = {}
    ready_socket: str = ""
    """A program is in service once this Unix socket accepts a connection; empty: at once."""
    probe: ProgramProbe | None = None
    """How a program is watched; None: its end is noticed, its silence is not."""
    log_file: str = ""
    """Where a program's stdout and stderr go; empty: the fork server's own."""
    keeps_sockets: bool = False
    """Whether what the actor listens on survives it: its clients wait for the next incarnation (listeners.py)."""
    children: tuple[ChildSpec, ...] = ()
    """Given for a supervisor; started in this order, stopped in reverse."""
    arguments: dict[str, Any] = {}
    """Passed to the actor class as keyword arguments."""
    feeders: tuple[ActorName, ...] = ()
    """Actors that are told Hello when this one starts, so that they send their current state again."""

    @property
    def class_name(self) -> str:
        """What Thespian's createActor is given: `module.Class`; the path of a program."""
        return self.actor.replace(":", ".") or (self.program[0] if self.program else SUPERVISOR)

    @property
    def is_supervisor(self) -> bool:
        """It has children, or neither a class nor a program of its own: then it is a plain supervisor."""
        return bool(self.children) or not (self.actor or self.program)


def full_name(parent: str, child: ChildSpec) -> str:
    """The name that the child of the actor `parent` is addressed by: the root's own name is left out."""
    return child.name if parent == ROOT else f"{parent}/{child.name}"


def walk(spec: ChildSpec, name: str = ROOT, parent: str = FORK_SERVER) -> Iterator[tuple[str, str, ChildSpec]]:
    """(name, name of its supervisor, spec) of everything below and including `spec`, parents first, in start order."""
    yield name, parent, spec
    for child in spec.children:
        yield from walk(child, full_name(name, child), name)


def stop_budget(spec: ChildSpec, name: str, policies: Mapping[str, Policy]) -> float:
    """Seconds that stopping it may take in all: a supervisor stops its children one after the other.

    OTP's `infinity` for supervisors, made finite: a supervisor is never cut short while its children keep to theirs.
    """
    own = policies[name].shutdown_seconds
    return own + sum(stop_budget(child, full_name(name, child), policies) for child in spec.children)
