"""The processes that a signal has stopped."""

from __future__ import annotations

from collections.abc import Iterable

from ..process_stat import is_stopped
from ..protocol import ActorState


def stopped_by_signal(actors: Iterable[ActorState]) -> set[int]:
    """The pids of the processes that SIGSTOP or a tracer has stopped."""
    return {actor.pid for actor in actors if actor.pid and is_stopped(actor.pid)}
