"""The phases of a shutdown as a table: phase, event, next phase and actions. Pure.

Nothing is known of the machine until logind has answered. After a restart of the actor in the middle of a shutdown, the
shutdown counts as in progress until logind has answered, or for as long as it may last.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ShutdownPhase(StrEnum):
    UNKNOWN = "unknown"
    """Logind has not reported whether the machine shuts down: nothing is reported to other actors."""
    PRESUMED = "presumed"
    """The previous incarnation was in a shutdown, and logind has not reported whether it continues."""
    UP = "up"
    """The machine does not shut down, or logind cannot be asked."""
    SHUTTING_DOWN = "shutting down"

    @property
    def refuses_pods(self) -> bool:
        """The node is not ready, and admits no pod."""
        return self in (ShutdownPhase.PRESUMED, ShutdownPhase.SHUTTING_DOWN)


class ShutdownEvent(StrEnum):
    PREPARING = "preparing"
    """Logind has the machine shut down."""
    NOT_PREPARING = "not preparing"
    UNREACHABLE = "unreachable"
    """Logind cannot be asked."""
    EXPIRED = "expired"
    """The presumed shutdown has lasted longer than its windows."""


class ShutdownEffect(StrEnum):
    """The actions of the actor, in the order of the table."""

    RECORD_START = "record start"
    RECORD_END = "record end"
    RECORD_MISSED_END = "record missed end"
    """Only of a record without an end: no agent ran at the end of that shutdown."""
    END_PODS = "end pods"
    STOP_ENDING_PODS = "stop ending pods"
    """Pods that were ordered to end do so; the others keep running."""
    PUBLISH = "publish"
    EMIT_START = "emit start"
    EMIT_CANCELLATION = "emit cancellation"


Outcome = tuple[ShutdownPhase, tuple[ShutdownEffect, ...]]
_BEGIN: Final[Outcome] = (
    ShutdownPhase.SHUTTING_DOWN,
    (ShutdownEffect.RECORD_START, ShutdownEffect.PUBLISH, ShutdownEffect.EMIT_START, ShutdownEffect.END_PODS),
)
_CONTINUE: Final[Outcome] = (
    ShutdownPhase.SHUTTING_DOWN,
    (ShutdownEffect.PUBLISH, ShutdownEffect.EMIT_START, ShutdownEffect.END_PODS),
)
_CANCEL: Final[Outcome] = (
    ShutdownPhase.UP,
    (
        ShutdownEffect.STOP_ENDING_PODS,
        ShutdownEffect.RECORD_END,
        ShutdownEffect.PUBLISH,
        ShutdownEffect.EMIT_CANCELLATION,
    ),
)
TRANSITIONS: Final[dict[ShutdownPhase, dict[ShutdownEvent, Outcome]]] = {
    ShutdownPhase.UNKNOWN: {
        ShutdownEvent.PREPARING: _BEGIN,
        ShutdownEvent.NOT_PREPARING: (ShutdownPhase.UP, (ShutdownEffect.RECORD_MISSED_END, ShutdownEffect.PUBLISH)),
        ShutdownEvent.UNREACHABLE: (ShutdownPhase.UP, (ShutdownEffect.PUBLISH,)),
    },
    ShutdownPhase.PRESUMED: {
        ShutdownEvent.PREPARING: _CONTINUE,
        ShutdownEvent.NOT_PREPARING: _CANCEL,
        ShutdownEvent.EXPIRED: (ShutdownPhase.UP, (ShutdownEffect.RECORD_END, ShutdownEffect.PUBLISH)),
    },
    ShutdownPhase.UP: {
        ShutdownEvent.PREPARING: _BEGIN,
        ShutdownEvent.NOT_PREPARING: (ShutdownPhase.UP, (ShutdownEffect.RECORD_MISSED_END,)),
    },
    ShutdownPhase.SHUTTING_DOWN: {ShutdownEvent.NOT_PREPARING: _CANCEL},
}
"""A missing pair changes nothing: logind repeats its answer, or cannot be asked while the pods end."""


def decide(phase: ShutdownPhase, event: ShutdownEvent) -> Outcome:
    """The next phase, and the actions."""
    return TRANSITIONS[phase].get(event, (phase, ()))
