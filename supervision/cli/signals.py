"""The processes that a signal has stopped, from /proc."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..protocol import ActorState


def stopped_by_signal(actors: Iterable[ActorState], proc: Path = Path("/proc")) -> set[int]:
    """The pids of the processes that SIGSTOP or a debugger has stopped."""
    return {actor.pid for actor in actors if actor.pid and is_stopped(actor.pid, proc)}


def is_stopped(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether SIGSTOP or a debugger has stopped the process."""
    return _state(proc / str(pid) / "stat") in ("T", "t")


def _state(stat: Path) -> str:
    try:
        return stat.read_text(errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return ""  # it has just ended: the fork server knows
