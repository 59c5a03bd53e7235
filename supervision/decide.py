"""What a supervisor does when something happens to a child. Pure: `decide(family, event, now, rng) -> family, orders`.

`TRANSITIONS` says what each event means in each phase. A pair that is not in it changes nothing, so events may be
repeated. After each event `_settle` gives the orders that are due: it stops children one at a time in reverse order,
and starts children in listed order. The terms are those of OTP.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .backoff import Rng
from .children import Child, ChildEvent, ChildPhase, Ending, SupervisorState, ended_orderly
from .protocol import EXIT_ESCALATED, Cause, Exited, Started, Stop
from .strategy import group

REPEAT_SECONDS = 2.0
"""This long after a deadline the supervisor no longer relies on the fork server to enforce it, and orders a kill."""


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
Rule = Callable[[SupervisorState, Child, float, Rng], tuple[SupervisorState, list[Order]]]
_change = msgspec.structs.replace


def decide(
    family: SupervisorState, event: Started | Exited | Tick | StopRequested, now: float, rng: Rng
) -> tuple[SupervisorState, tuple[Order, ...]]:
    """The children after the event, and the orders it leads to, in order."""
    orders: list[Order] = []
    if isinstance(event, StopRequested) and family.ending is Ending.NO:
        family = _change(family, ending=Ending.STOPPED)
    elif isinstance(event, Started | Exited):
        child = family.child(event.name)
        if child is not None and _is_news(child, event):
            if isinstance(event, Exited):
                child = _change(child, ended=max(child.ended, event.incarnation))
            family, orders = _apply(family.replace(child), child, _kind(event), now, rng)
    family, late = _overdue(family, now, rng)
    family, due = _settle(family, now)
    return family, (*orders, *late, *due)


def _is_news(child: Child, event: Started | Exited) -> bool:
    # incarnation 0: the fork server has no process of that name
    return event.incarnation > child.ended or (event.incarnation == 0 and child.phase is ChildPhase.STOPPING)


def _kind(event: Started | Exited) -> ChildEvent:
    if isinstance(event, Started):
        return ChildEvent.STARTED
    if event.cause in ("stopped", "fork_server"):
        return ChildEvent.STOPPED
    if event.cause == "restarting":
        return ChildEvent.RESTARTING
    return ChildEvent.ENDED if ended_orderly(event) else ChildEvent.FAILED


def _apply(
    family: SupervisorState, child: Child, event: ChildEvent, now: float, rng: Rng
) -> tuple[SupervisorState, list[Order]]:
    rule = TRANSITIONS[child.phase].get(event)
    return (family, []) if rule is None else rule(family, child, now, rng)


def _overdue(family: SupervisorState, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    orders: list[Order] = []
    for child in family.children:
        if child.phase in (ChildPhase.STARTING, ChildPhase.STOPPING) and child.due <= now:
            family, more = _apply(family, child, ChildEvent.DUE, now, rng)
            orders += more
    return family, orders


# -- rules ------------------------------------------------------------------------------------------------------------
def _in_service(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    return family.replace(_change(child, phase=ChildPhase.RUNNING, in_service_since=now)), []


def _start_timed_out(
    family: SupervisorState, child: Child, now: float, rng: Rng
) -> tuple[SupervisorState, list[Order]]:
    return _stop(family, child, now, 0.0, "start_timeout")


def _kill(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    return _stop(family, child, now, 0.0, "stopped")


def _stopped(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """Not by this supervisor's order: the whole tree is stopped from above, so the child is not started again."""
    return family.replace(_change(child, phase=ChildPhase.GONE)), []


def _restarting(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    """Not a failure: it is not counted, does not concern the group, and the child is started again at once."""
    if family.ending is not Ending.NO or child.doomed:
        return _failed(family, child, now, rng)
    return family.replace(_change(child, phase=ChildPhase.WAITING, in_service_since=None, not_before=now)), []


def _ended(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    if family.ending is not Ending.NO or child.doomed or child.policy.restart == "permanent":
        return _failed(family, child, now, rng)
    return _gone(family, child), []


def _failed(family: SupervisorState, child: Child, now: float, rng: Rng) -> tuple[SupervisorState, list[Order]]:
    if family.ending is not Ending.NO:
        return family.replace(_change(child, phase=ChildPhase.GONE)), []
    if child.doomed:
        return family.replace(_rest(child)), []
    if child.policy.restart == "temporary":
        return _gone(family, child), []
    return _restart(family, child, now, rng), []


def _gone(family: SupervisorState, child: Child) -> SupervisorState:
    """A child that is not restarted has ended; if it is significant, the supervisor may end (auto_shutdown)."""
    family = family.replace(_change(child, phase=ChildPhase.GONE))
    if not child.policy.significant or family.policy.auto_shutdown == "none":
        return family
    significant = [other for other in family.children if other.policy.significant]
    if family.policy.auto_shutdown == "any_significant" or all(o.phase is ChildPhase.GONE for o in significant):
        return _change(family, ending=Ending.DONE)
    return family


def _rest(child: Child) -> Child:
    """A child that was stopped with its group has ended. A temporary child is never restarted."""
    phase = ChildPhase.GONE if child.policy.restart == "temporary" else ChildPhase.WAITING
    return _change(child, phase=phase, doomed=False, in_service_since=None)


def _restart(family: SupervisorState, child: Child, now: float, rng: Rng) -> SupervisorState:
    """Count the failure; then give up, or stop the child's group and restart it after the pause."""
    policy, since = child.policy, child.in_service_since
    backoff = child.backoff.failed(child.backoff_policy, 0.0 if since is None else now - since)
    restarts, within = child.restarts.add(now, policy.max_restarts, policy.period_seconds)
    failed = _change(_rest(child), backoff=backoff, restarts=restarts)
    family, total_within = _count_total(family.replace(failed), now)
    if not within:
        return _escalate(family, child.name, policy.max_restarts, policy.period_seconds)
    if not total_within:
        return _escalate(family, "its children", family.policy.total_restarts, family.policy.total_period_seconds)
    not_before = now + backoff.pause(child.backoff_policy, rng)
    names = group(family.policy.strategy, [other.name for other in family.children], child.name)
    return _change(family, children=tuple(_take(o, not_before) if o.name in names else o for o in family.children))


def _count_total(family: SupervisorState, now: float) -> tuple[SupervisorState, bool]:
    policy = family.policy
    if policy.total_restarts == 0:
        return family, True
    restarts, within = family.restarts.add(now, policy.total_restarts, policy.total_period_seconds)
    return _change(family, restarts=restarts), within


def _escalate(family: SupervisorState, who: str, most: int, period: float) -> SupervisorState:
    times = "once" if most == 0 else f"{most + 1} times in {period:g} s"
    reason = f"{who} failed {times}, more than the {most} restarts allowed"
    return _change(family, ending=Ending.ESCALATED, reason=reason)


def _take(child: Child, not_before: float) -> Child:
    """Mark a member of a group that is restarted. As in OTP, that includes a transient child that had ended."""
    if child.alive:
        return _change(child, doomed=True, not_before=max(child.not_before, not_before))
    return _change(_rest(child), not_before=max(child.not_before, not_before))


# -- the orders that are due ------------------------------------------------------------------------------------------
def _settle(family: SupervisorState, now: float) -> tuple[SupervisorState, list[Order]]:
    ending = family.ending is not Ending.NO
    to_stop = [child for child in family.children if child.alive and (ending or child.doomed)]
    if to_stop:
        if any(child.phase is ChildPhase.STOPPING for child in to_stop):
            return family, []
        return _stop(family, to_stop[-1], now, to_stop[-1].budget, "stopped")
    if ending:
        return family, [Finish(EXIT_ESCALATED if family.ending is Ending.ESCALATED else 0, family.reason)]
    orders: list[Order] = []
    for child in family.children:
        if child.phase is ChildPhase.WAITING and child.not_before <= now:
            # the fork server enforces start_seconds; this deadline covers a lost order or answer
            due = now + child.policy.start_seconds + REPEAT_SECONDS
            family = family.replace(_change(child, phase=ChildPhase.STARTING, due=due, in_service_since=None))
            orders.append(Create(child.name))
    return family, orders


def _stop(
    family: SupervisorState, child: Child, now: float, budget: float, cause: Cause
) -> tuple[SupervisorState, list[Order]]:
    stopping = _change(child, phase=ChildPhase.STOPPING, due=now + budget + REPEAT_SECONDS)
    return family.replace(stopping), [Stop(child.name, budget, cause)]


TRANSITIONS: dict[ChildPhase, dict[ChildEvent, Rule]] = {
    ChildPhase.WAITING: {},
    ChildPhase.STARTING: {
        ChildEvent.STARTED: _in_service,
        ChildEvent.ENDED: _ended,
        ChildEvent.FAILED: _failed,
        ChildEvent.STOPPED: _stopped,
        ChildEvent.RESTARTING: _restarting,
        ChildEvent.DUE: _start_timed_out,
    },
    ChildPhase.RUNNING: {
        ChildEvent.ENDED: _ended,
        ChildEvent.FAILED: _failed,
        ChildEvent.STOPPED: _stopped,
        ChildEvent.RESTARTING: _restarting,
    },
    ChildPhase.STOPPING: {
        ChildEvent.ENDED: _ended,
        ChildEvent.FAILED: _failed,
        ChildEvent.STOPPED: _failed,
        ChildEvent.RESTARTING: _failed,
        ChildEvent.DUE: _kill,
    },
    ChildPhase.GONE: {},
}
"""A missing pair changes nothing: a WAITING child was not ordered to start, and a GONE child is of no concern."""
