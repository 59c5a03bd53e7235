"""The decisions of a supervisor about its children. Pure: `decide(state, event, now, rng) -> state, orders`.

`TRANSITIONS` defines each event in each phase. A missing pair changes nothing, so events may be
repeated. After each event `_settle` gives the orders that are due: it stops children one at a time in reverse order,
and starts children in listed order. The terms are OTP's.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..backoff import Rng
from ..process_messages import EXIT_ESCALATED, Cause, DiedOnInput, Exited, Started, Stop, ended_orderly, never_ran
from .children import Child, ChildEvent, ChildPhase, Ending, SupervisorState
from .strategy import group

REPEAT_SECONDS = 2.0
"""This long after a deadline the supervisor no longer relies on the fork server to enforce it, and orders a kill."""

FORK_RETRY_SECONDS = 10.0
"""The longest pause before a fork that has failed is tried again: it costs little."""


class Tick(msgspec.Struct, frozen=True):
    """Time has passed."""


class StopRequested(msgspec.Struct, frozen=True):
    """The supervisor is asked to stop."""


class Create(msgspec.Struct, frozen=True):
    """Create the child of that name."""

    name: str


class Finish(msgspec.Struct, frozen=True):
    """All children have ended: end with this exit code."""

    status: int
    reason: str = ""


Order = Create | Stop | Finish
Event = Started | Exited | DiedOnInput | Tick | StopRequested
Rule = Callable[[SupervisorState, Child, float, Rng], tuple[SupervisorState, list[Order]]]
_change = msgspec.structs.replace


def decide(state: SupervisorState, event: Event, now: float, rng: Rng) -> tuple[SupervisorState, tuple[Order, ...]]:
    """The children after the event, and the orders it leads to, in order."""
    orders: list[Order] = []
    if isinstance(event, StopRequested) and state.ending is Ending.NO:
        state = _change(state, ending=Ending.STOPPED)
    elif isinstance(event, DiedOnInput):
        state = _forgive(state, event.name)
    elif isinstance(event, Started | Exited):
        child = state.child(event.name)
        if child is not None and event.incarnation > child.ended:
            if isinstance(event, Exited):
                child = _change(child, ended=max(child.ended, event.incarnation))
            state, orders = _apply(state.replace(child), child, _kind(event), now, rng)
    state, late = _overdue(state, now, rng)
    state, due = _settle(state, now)
    return state, (*orders, *late, *due)


def _kind(event: Started | Exited) -> ChildEvent:
    if isinstance(event, Started):
        return ChildEvent.STARTED
    if event.cause in ("stopped", "fork_server"):
        return ChildEvent.STOPPED
    if event.cause == "restarting":
        return ChildEvent.RESTARTING
    if never_ran(event):
        return ChildEvent.UNFORKED
    return ChildEvent.ENDED if ended_orderly(event) else ChildEvent.FAILED


def _apply(
    state: SupervisorState, child: Child, event: ChildEvent, now: float, rng: Rng
) -> tuple[SupervisorState, list[Order]]:
    rule = TRANSITIONS[child.phase].get(event)
    return (state, []) if rule is None else rule(state, child, now, rng)


def _overdue(state: SupervisorState, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    orders: list[Order] = []
    for child in state.children:
        if child.phase in (ChildPhase.STARTING, ChildPhase.STOPPING) and child.due <= now:
            state, more = _apply(state, child, ChildEvent.DUE, now, rng)
            orders += more
    return state, orders


# -- rules ------------------------------------------------------------------------------------------------------------
def _in_service(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    return state.replace(_change(child, phase=ChildPhase.RUNNING, in_service_since=now)), []


def _start_is_late(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """It remains STARTING: its start, or its end, may wait in the mailbox of this supervisor, if that stood still."""
    waiting = _change(child, due=now + REPEAT_SECONDS)
    return state.replace(waiting), [Stop(child.name, 0.0, "start_timeout")]


def _kill(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    return _stop(state, child, now, 0.0, "stopped")


def _on_stopped(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """Not by this supervisor's order: the whole tree is stopped from above, so the child is not started again."""
    return state.replace(_change(child, phase=ChildPhase.GONE)), []


def _on_restarting(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """Not a failure: it is not counted, does not concern the group, and the child is started again at once."""
    if state.ending is not Ending.NO or child.restarts_with_group:
        return _on_failed(state, child, now, rng)
    return state.replace(_change(child, phase=ChildPhase.WAITING, in_service_since=None, not_before=now)), []


def _on_ended(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    if state.ending is not Ending.NO or child.restarts_with_group or child.policy.restart == "permanent":
        return _on_failed(state, child, now, rng)
    return _without_restart(state, child), []


def _on_failed(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    if state.ending is not Ending.NO:
        return state.replace(_change(child, phase=ChildPhase.GONE)), []
    if child.restarts_with_group:
        return state.replace(_after_group_stop(child)), []
    if child.policy.restart == "temporary":
        return _without_restart(state, child), []
    return _restart(state, child, now, rng), []


def _on_unforked(state: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """Not the child's fault: it is not counted, does not concern the group, and is tried again for as long as it takes,
    as restarts of more processes would only make it worse."""
    if state.ending is not Ending.NO or child.restarts_with_group or child.policy.restart == "temporary":
        return _on_failed(state, child, now, rng)
    backoff = child.backoff.failed(child.policy.backoff)
    not_before = now + min(backoff.pause(child.policy.backoff, rng), FORK_RETRY_SECONDS)
    waiting = _change(child, phase=ChildPhase.WAITING, in_service_since=None, not_before=not_before, backoff=backoff)
    return state.replace(waiting), []


def _without_restart(state: SupervisorState, child: Child) -> SupervisorState:
    """A child that is not restarted has ended; if it is significant, the supervisor may end (auto_shutdown)."""
    state = state.replace(_change(child, phase=ChildPhase.GONE))
    if not child.policy.significant or state.policy.auto_shutdown == "none":
        return state
    significant = [other for other in state.children if other.policy.significant]
    if state.policy.auto_shutdown == "any_significant" or all(o.phase is ChildPhase.GONE for o in significant):
        return _change(state, ending=Ending.DONE)
    return state


def _after_group_stop(child: Child) -> Child:
    """A child that was stopped with its group has ended. A temporary child is never restarted."""
    phase = ChildPhase.GONE if child.policy.restart == "temporary" else ChildPhase.WAITING
    return _change(child, phase=phase, restarts_with_group=False, in_service_since=None)


def _restart(state: SupervisorState, child: Child, now: float, rng: Rng) -> SupervisorState:
    """Count the failure; then give up, or stop the child's group and restart it after the pause."""
    policy, since = child.policy, child.in_service_since
    backoff = child.backoff.failed(policy.backoff, 0.0 if since is None else now - since)
    restarts, within = child.restarts.add(now, policy.max_restarts, policy.period_seconds)
    failed = _change(_after_group_stop(child), backoff=backoff, restarts=restarts)
    state, total_within = _count_total(state.replace(failed), now)
    if not within:
        return _escalate(state, child.name, policy.max_restarts, policy.period_seconds)
    if not total_within:
        return _escalate(state, "its children", state.policy.total_restarts, state.policy.total_period_seconds)
    not_before = now + backoff.pause(policy.backoff, rng)
    names = group(state.policy.strategy, [other.name for other in state.children], child.name)
    return _change(state, children=tuple(_take(o, not_before) if o.name in names else o for o in state.children))


def _count_total(state: SupervisorState, now: float) -> tuple[SupervisorState, bool]:
    policy = state.policy
    if policy.total_restarts == 0:
        return state, True
    restarts, within = state.restarts.add(now, policy.total_restarts, policy.total_period_seconds)
    return _change(state, restarts=restarts), within


def _forgive(state: SupervisorState, name: str) -> SupervisorState:
    """Undo the last failure of the child in the counts of restarts and in its pauses."""
    child = state.child(name)
    if child is None or not child.restarts.restarts:
        return state
    last = child.restarts.restarts[-1]
    forgiven = _change(child, restarts=child.restarts.without(last), backoff=child.backoff.forgiven())
    return _change(state.replace(forgiven), restarts=state.restarts.without(last))


def _escalate(state: SupervisorState, who: str, most: int, period: float) -> SupervisorState:
    times = "once" if most == 0 else f"{most + 1} times in {period:g} s"
    reason = f"{who} failed {times}, more than the {most} restarts allowed"
    return _change(state, ending=Ending.ESCALATED, reason=reason)


def _take(child: Child, not_before: float) -> Child:
    """Mark a member of a group that is restarted. As in OTP, that includes a transient child that had ended."""
    if child.alive:
        return _change(child, restarts_with_group=True, not_before=max(child.not_before, not_before))
    return _change(_after_group_stop(child), not_before=max(child.not_before, not_before))


# -- the orders that are due ------------------------------------------------------------------------------------------
def _settle(state: SupervisorState, now: float) -> tuple[SupervisorState, list[Order]]:
    ending = state.ending is not Ending.NO
    to_stop = [child for child in state.children if child.alive and (ending or child.restarts_with_group)]
    if to_stop:
        if any(child.phase is ChildPhase.STOPPING for child in to_stop):
            return state, []
        return _stop(state, to_stop[-1], now, to_stop[-1].budget, "stopped")
    if ending:
        return state, [Finish(EXIT_ESCALATED if state.ending is Ending.ESCALATED else 0, state.reason)]
    orders: list[Order] = []
    for child in state.children:
        if child.phase is ChildPhase.WAITING and child.not_before <= now:
            # the fork server enforces start_seconds; this deadline covers a lost order or answer
            due = now + child.policy.start_seconds + REPEAT_SECONDS
            state = state.replace(_change(child, phase=ChildPhase.STARTING, due=due, in_service_since=None))
            orders.append(Create(child.name))
    return state, orders


def _stop(
    state: SupervisorState, child: Child, now: float, budget: float, cause: Cause
) -> tuple[SupervisorState, list[Order]]:
    stopping = _change(child, phase=ChildPhase.STOPPING, due=now + budget + REPEAT_SECONDS)
    return state.replace(stopping), [Stop(child.name, budget, cause)]


TRANSITIONS: dict[ChildPhase, dict[ChildEvent, Rule]] = {
    ChildPhase.WAITING: {},
    ChildPhase.STARTING: {
        ChildEvent.STARTED: _in_service,
        ChildEvent.ENDED: _on_ended,
        ChildEvent.FAILED: _on_failed,
        ChildEvent.UNFORKED: _on_unforked,
        ChildEvent.STOPPED: _on_stopped,
        ChildEvent.RESTARTING: _on_restarting,
        ChildEvent.DUE: _start_is_late,
    },
    ChildPhase.RUNNING: {
        ChildEvent.ENDED: _on_ended,
        ChildEvent.FAILED: _on_failed,
        ChildEvent.STOPPED: _on_stopped,
        ChildEvent.RESTARTING: _on_restarting,
    },
    ChildPhase.STOPPING: {
        ChildEvent.ENDED: _on_ended,
        ChildEvent.FAILED: _on_failed,
        ChildEvent.UNFORKED: _on_failed,
        ChildEvent.STOPPED: _on_failed,
        ChildEvent.RESTARTING: _on_failed,
        ChildEvent.DUE: _kill,
    },
    ChildPhase.GONE: {},
}
"""A missing pair changes nothing: a WAITING child was not ordered to start, and a GONE child is of no concern."""
