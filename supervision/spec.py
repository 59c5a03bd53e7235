"""Child specs, with the terms of Erlang/OTP's supervisor.

The tree (names, classes, arguments, default policies) is code, written by the application as nested `ChildSpec`s; an
operator's policy file may override each setting of a policy (restart type, intensity, budgets, ceilings) by name
(`policy.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypedDict

import msgspec

from .addresses import ActorName
from .backoff import BackoffPolicy
from .message import Message, Question
from .protocol import FORK_SERVER, ROOT

Restart = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
Significance = Literal["none", "any_significant", "all_significant"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy of one actor. The values here are the engine's defaults; etc/supervision.yaml explains the settings
    to operators; valid values: `policy_rules.py`."""

    restart: Restart = "permanent"
    shutdown_seconds: float = 5.0
    """Time for an orderly end before SIGKILL. 0: SIGKILL at once. A supervisor has its children's budgets in
    addition."""
    start_seconds: float = 10.0
    """From the order to fork until in service; then SIGKILL, and it counts as a failure."""
    heartbeat_seconds: float = 10.0
    """Silence after which the actor counts as hung; 0: never."""
    busy_seconds: float = 0.0
    """A handler or a step of a coroutine that holds the loop for longer counts as hung; 0: no limit. This is noticed
    sooner than a missing heartbeat, at no cost for the actor."""
    memory_mib: int = 256
    """Ceiling of its memory; 0: none."""
    significant: bool = False
    """Whether its own orderly end counts for its supervisor's auto_shutdown."""
    max_restarts: int = 8
    """When this actor is restarted more often than that within `period_seconds`, its supervisor gives up."""
    period_seconds: float = 30.0
    backoff_seconds: float = 0.05
    """Pause before the second consecutive restart. The first has no pause; each further pause is twice as long."""
    backoff_max_seconds: float = 30.0
    backoff_reset_seconds: float = 10.0
    """Uptime after which consecutive restarts are counted from zero again."""
    # the remaining settings are for supervisors only
    strategy: Strategy = "one_for_one"
    total_restarts: int = 0
    """OTP's intensity: the supervisor gives up after more restarts of all its children together; 0: no limit."""
    total_period_seconds: float = 60.0
    auto_shutdown: Significance = "none"

    @property
    def backoff(self) -> BackoffPolicy:
        """The pauses between its restarts."""
        return BackoffPolicy(
            first=self.backoff_seconds, maximum=self.backoff_max_seconds, reset_after=self.backoff_reset_seconds
        )


class PolicySettings(TypedDict, total=False):
    """Settings of a policy that are given; the others are the default's. The same fields as Policy's."""

    restart: Restart
    shutdown_seconds: float
    start_seconds: float
    heartbeat_seconds: float
    busy_seconds: float
    memory_mib: int
    significant: bool
    max_restarts: int
    period_seconds: float
    backoff_seconds: float
    backoff_max_seconds: float
    backoff_reset_seconds: float
    strategy: Strategy
    total_restarts: int
    total_period_seconds: float
    auto_shutdown: Significance


SUPERVISOR_SETTINGS: Final = PolicySettings(max_restarts=3, period_seconds=60.0)
"""The engine's default settings of a supervisor, where they differ from an actor's."""
SUPERVISOR_POLICY: Final = Policy(**SUPERVISOR_SETTINGS)


class SetPolicies(Message, frozen=True):
    """Puts these policies in force. The fork server passes them to the supervisors.

    Settings for starting, and heartbeats shorter than an actor's present one, apply from its next incarnation.
    """

    policies: dict[str, Policy]
    """By full name; an actor that is not listed keeps its policy."""


class GetPolicies(Question["PoliciesInForce"], frozen=True):
    """Asks the fork server for the policies in force."""


class PoliciesInForce(Message, frozen=True):
    policies: dict[str, Policy]
    """By full name, in the order of the tree. Deadlines are scaled for this machine (time_scale.py)."""


class ProgramAnswer(msgspec.Struct, frozen=True):
    """What the probe of a program has found."""

    answered: bool
    not_serving: str = ""
    """Why the program does not do its work although it answers; '': it does, or does not answer."""


class ProgramProbe(msgspec.Struct, frozen=True, kw_only=True):
    """The heartbeat of a program: the probe that shows whether it answers.

    A program that does not answer for its policy's `heartbeat_seconds` is sent SIGUSR1 (a Go daemon then writes its
    stacks), killed and restarted, and the incident has the cause `hang`. One that answers for as long, but does not do
    its work, is killed and restarted with the cause `not_serving`.
    """

    function: str
    """`module:function`, run in a disposable process; it returns a ProgramAnswer."""
    arguments: dict[str, Any] = {}
    interval_seconds: float = 5.0
    timeout_seconds: float = 2.0
    """The function's own time limit."""
    stacks_file: str = ""
    """Where the program writes its stacks, `{pid}` for its process, in a directory of its own: those of its last
    processes are kept. Empty: into its log."""


SUPERVISOR: Final = "supervision.supervisor.supervisor:Supervisor"
"""The class of a supervisor without its own class."""


class ChildSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the tree."""

    name: str
    """Last part of the actor's name, or `worker/0`: unique among its siblings."""
    actor: str = ""
    """The actor's class as `module:Class`; empty for a program and for a plain supervisor."""
    program: tuple[str, ...] = ()
    """argv of a program to supervise instead of an actor."""
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """Path and text of the files that a program reads and nobody else writes: made whole before each of its starts."""
    open_files: int = 0
    """The files that a program may have open, as far as its hard limit allows; never fewer than the fork server."""
    ready_socket: str = ""
    """A program is in service once this Unix socket accepts a connection; empty: at once."""
    probe: ProgramProbe | None = None
    """The probe of a program; None: a hang is not detected."""
    log_file: str = ""
    """Where a program's stdout and stderr go; empty: the fork server's own."""
    keeps_sockets: bool = False
    """Whether the actor's listening sockets survive it: its clients wait for the next incarnation (listeners.py)."""
    policy: PolicySettings = {}
    """The settings that it declares. They override the engine's default for its kind."""
    children: tuple[ChildSpec, ...] = ()
    """The children of a supervisor, in start order; they are stopped in reverse order."""
    arguments: dict[str, Any] = {}
    """Keyword arguments of the actor class."""
    feeders: tuple[ActorName, ...] = ()
    """The actors that get a Hello when this one starts, and send it their current state again."""

    @property
    def default_policy(self) -> Policy:
        """Its policy unless a policy file overrides it."""
        engine = SUPERVISOR_POLICY if self.is_supervisor else Policy()
        return msgspec.structs.replace(engine, **self.policy)

    @property
    def class_name(self) -> str:
        """The argument for Thespian's createActor: `module.Class`, or the path of a program."""
        return self.program[0] if self.program else (self.actor or SUPERVISOR).replace(":", ".")

    @property
    def is_supervisor(self) -> bool:
        """Whether it has children, or neither a class nor a program (a plain supervisor)."""
        return bool(self.children) or not (self.actor or self.program)


def full_name(parent: str, child: ChildSpec) -> str:
    """The address of a child of `parent`; the root's own name is omitted."""
    return child.name if parent == ROOT else f"{parent}/{child.name}"


def walk(spec: ChildSpec, name: str = ROOT, parent: str = FORK_SERVER) -> Iterator[tuple[str, str, ChildSpec]]:
    """(name, supervisor's name, spec) of `spec` and everything below it, parents first, in start order."""
    yield name, parent, spec
    for child in spec.children:
        yield from walk(child, full_name(name, child), name)


def stop_budget(spec: ChildSpec, name: str, policies: Mapping[str, Policy]) -> float:
    """Seconds that its stop may take in all: a supervisor stops its children one after another.

    It replaces OTP's `infinity` for supervisors: long enough if every child keeps its budget.
    """
    own = policies[name].shutdown_seconds
    return own + sum(stop_budget(child, full_name(name, child), policies) for child in spec.children)
