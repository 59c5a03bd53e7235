"""The phases of a pod as a table: phase, event, next phase. A missing entry is an error that names both."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    ADMITTING = "admitting"
    RUNNING = "running"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    """No container runs or will run; volumes and cgroup are removed."""
    ENDED = "ended"
    """Only dead containers and logs are left, as long as a source has the pod."""
    REJECTED = "rejected"
    FINISHED = "finished"


class Event(StrEnum):
    ADMITTED = "admitted"
    REFUSED = "refused"
    LEAVE = "leave"
    """No source has the pod, it is deleted, evicted or complete."""
    STOPPED = "stopped"
    CLEANED = "cleaned"
    FORGOTTEN = "forgotten"
    """No source has the pod, and nothing of it is left."""


TRANSITIONS: dict[Phase, dict[Event, Phase]] = {
    Phase.ADMITTING: {Event.ADMITTED: Phase.RUNNING, Event.REFUSED: Phase.REJECTED, Event.LEAVE: Phase.TERMINATING},
    Phase.RUNNING: {Event.LEAVE: Phase.TERMINATING},
    Phase.TERMINATING: {Event.STOPPED: Phase.TERMINATED},
    Phase.TERMINATED: {Event.CLEANED: Phase.ENDED},
    Phase.ENDED: {Event.FORGOTTEN: Phase.FINISHED},
    Phase.REJECTED: {Event.LEAVE: Phase.TERMINATING},
    Phase.FINISHED: {},
}


class IllegalTransition(Exception):
    """The table has no such transition."""


def step(phase: Phase, event: Event) -> Phase:
    """The next phase. Raises IllegalTransition."""
    try:
        return TRANSITIONS[phase][event]
    except KeyError:
        raise IllegalTransition(f"a pod that is {phase} cannot be {event}") from None
