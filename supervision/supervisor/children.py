"""The state of a supervisor's children, and the events that change it. Pure data; `transitions.py` has the rules."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from ..backoff import Backoff
from ..spec import ChildSpec, Policy, full_name, stop_budget
from .intensity import Intensity


class ChildPhase(enum.Enum):
    """The phase of one child."""

    WAITING = "waiting"
    """No process. It is started when its pause is over and its group has stopped."""
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    """Ordered to end; its process is still there."""
    GONE = "gone"
    """Ended finally. Only a restart of its whole group starts it again."""


ALIVE = frozenset({ChildPhase.STARTING, ChildPhase.RUNNING, ChildPhase.STOPPING})


class ChildEvent(enum.Enum):
    """An event of a child."""

    STARTED = "started"
    ENDED = "ended"
    """Its process ended by itself with exit code 0."""
    FAILED = "failed"
    """Its process ended in any other way."""
    UNFORKED = "unforked"
    """The host had no room for its process."""
    STOPPED = "stopped"
    """Its process ended on an order."""
    RESTARTING = "restarting"
    """Its process ended for a rolling restart; it is started again."""
    DUE = "due"
    """Its deadline has passed."""


class Ending(enum.Enum):
    """Why the supervisor itself ends."""

    NO = "no"
    STOPPED = "stopped"
    """It was ordered to."""
    DONE = "done"
    """auto_shutdown: its significant children have ended."""
    ESCALATED = "escalated"
    """Its children failed too often."""


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A child. Times are of the clock that `decide` gets."""

    name: str
    policy: Policy
    budget: float
    """Seconds that its stop may take, its own children included."""
    phase: ChildPhase = ChildPhase.WAITING
    restarts_with_group: bool = False
    """It runs, but a member of its group failed: it is stopped and restarted with the group."""
    not_before: float = 0.0
    """WAITING: when it may be started."""
    due: float = 0.0
    """STARTING: the deadline for being in service. STOPPING: when the order is repeated."""
    ended: int = 0
    """The highest incarnation known to have ended; events of older ones are ignored."""
    in_service_since: float | None = None
    backoff: Backoff = Backoff()
    restarts: Intensity = Intensity()

    @property
    def alive(self) -> bool:
        return self.phase in ALIVE


class SupervisorState(msgspec.Struct, frozen=True, kw_only=True):
    """A supervisor's children in start order, and its own state."""

    policy: Policy
    """The supervisor's own."""
    children: tuple[Child, ...]
    restarts: Intensity = Intensity()
    """The restarts of all children together."""
    ending: Ending = Ending.NO
    reason: str = ""
    """The reason for escalating, in words."""

    def child(self, name: str) -> Child | None:
        return next((child for child in self.children if child.name == name), None)

    def replace(self, changed: Child) -> SupervisorState:
        children = tuple(changed if child.name == changed.name else child for child in self.children)
        return msgspec.structs.replace(self, children=children)


def wake_at(state: SupervisorState) -> float | None:
    """When `decide` wants its next Tick, or None when only an event can change anything."""
    times = [child.due for child in state.children if child.phase in (ChildPhase.STARTING, ChildPhase.STOPPING)]
    if state.ending is Ending.NO and not any(child.restarts_with_group and child.alive for child in state.children):
        times += [child.not_before for child in state.children if child.phase is ChildPhase.WAITING]
    return min(times, default=None)


def initial_state(spec: ChildSpec, name: str, policies: Mapping[str, Policy]) -> SupervisorState:
    """The children of the supervisor `name`, before any is started."""
    children = [(full_name(name, child), child) for child in spec.children]
    return SupervisorState(
        policy=policies[name],
        children=tuple(
            Child(name=full, policy=policies[full], budget=stop_budget(child, full, policies))
            for full, child in children
        ),
    )


def with_policies(
    state: SupervisorState, spec: ChildSpec, name: str, policies: Mapping[str, Policy]
) -> SupervisorState:
    """The same children with new policies. States, restart counts and pauses are kept. Exception: a child that has
    finally ended is started again if it is permanent now."""
    changed = {child.name: child for child in initial_state(spec, name, policies).children}
    children = (_with_policy(child, changed[child.name], state.ending) for child in state.children)
    return msgspec.structs.replace(state, policy=policies[name], children=tuple(children))


def _with_policy(child: Child, changed: Child, ending: Ending) -> Child:
    again = child.phase is ChildPhase.GONE and changed.policy.restart == "permanent" and ending is Ending.NO
    phase = ChildPhase.WAITING if again else child.phase
    return msgspec.structs.replace(child, policy=changed.policy, budget=changed.budget, phase=phase)
