"""The phases of a pod as a table: phase, event, next phase. A missing entry is an error that names both."""

from __future__ import annotations

from enum import StrEnum


class PodWorkerPhase(StrEnum):
    ADMITTING = "admitting"
    RUNNING = "running"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    """No container runs or will run; volumes and cgroup are removed."""
    ENDED = "ended"
    """Only dead containers and logs are left, as long as a source has the pod."""
    REJECTED = "rejected"
    FINISHED = "finished"


class PodWorkerEvent(StrEnum):
    ADMITTED = "admitted"
    REFUSED = "refused"
    TERMINATE = "terminate"
    """No source has the pod, it is deleted, evicted or complete."""
    STOPPED = "stopped"
    CLEANED = "cleaned"
    FORGOTTEN = "forgotten"
    """No source has the pod, and nothing of it is left."""


TRANSITIONS: dict[PodWorkerPhase, dict[PodWorkerEvent, PodWorkerPhase]] = {
    PodWorkerPhase.ADMITTING: {
        PodWorkerEvent.ADMITTED: PodWorkerPhase.RUNNING,
        PodWorkerEvent.REFUSED: PodWorkerPhase.REJECTED,
        PodWorkerEvent.TERMINATE: PodWorkerPhase.TERMINATING,
    },
    PodWorkerPhase.RUNNING: {PodWorkerEvent.TERMINATE: PodWorkerPhase.TERMINATING},
    PodWorkerPhase.TERMINATING: {PodWorkerEvent.STOPPED: PodWorkerPhase.TERMINATED},
    PodWorkerPhase.TERMINATED: {PodWorkerEvent.CLEANED: PodWorkerPhase.ENDED},
    PodWorkerPhase.ENDED: {PodWorkerEvent.FORGOTTEN: PodWorkerPhase.FINISHED},
    PodWorkerPhase.REJECTED: {PodWorkerEvent.TERMINATE: PodWorkerPhase.TERMINATING},
    PodWorkerPhase.FINISHED: {},
}


class IllegalTransition(Exception):
    """The table has no such transition."""


def step(phase: PodWorkerPhase, event: PodWorkerEvent) -> PodWorkerPhase:
    """The next phase. Raises IllegalTransition."""
    try:
        return TRANSITIONS[phase][event]
    except KeyError:
        raise IllegalTransition(f"a pod that is {phase} cannot be {event}") from None
