"""The life of a pod on this node, as a table. A missing entry is an error that names both."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    ADMITTING = "admitting"
    RUNNING = "running"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    """Nothing of it runs or will; cgroup and volumes are being given back."""
    ENDED = "ended"
    """Only its dead containers and logs are left, while a source still has the pod."""
    REJECTED = "rejected"
    FINISHED = "finished"


class Event(StrEnum):
    ADMITTED = "admitted"
    REFUSED = "refused"
    LEAVE = "leave"
    """No source has it, it was deleted or killed, or it is complete."""
    STOPPED = "stopped"
    CLEANED = "cleaned"
    FORGOTTEN = "forgotten"
    """No source has it any more, and nothing of it is left to clean."""


TRANSITIONS: dict[Stage, dict[Event, Stage]] = {
    Stage.ADMITTING: {Event.ADMITTED: Stage.RUNNING, Event.REFUSED: Stage.REJECTED, Event.LEAVE: Stage.TERMINATING},
    Stage.RUNNING: {Event.LEAVE: Stage.TERMINATING},
    Stage.TERMINATING: {Event.STOPPED: Stage.TERMINATED},
    Stage.TERMINATED: {Event.CLEANED: Stage.ENDED},
    Stage.ENDED: {Event.FORGOTTEN: Stage.FINISHED},
    Stage.REJECTED: {Event.LEAVE: Stage.TERMINATING},
    Stage.FINISHED: {},
}


class IllegalTransition(Exception):
    """The table has no such step."""


def step(stage: Stage, event: Event) -> Stage:
    """The next stage. Raises IllegalTransition."""
    try:
        return TRANSITIONS[stage][event]
    except KeyError:
        raise IllegalTransition(f"a pod that is {stage} cannot be {event}") from None
