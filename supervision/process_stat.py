"""Facts of a process from /proc/PID/stat (proc_pid_stat(5)): its state, its start, its processor time.

docs/decisions/process-facts.md has why psutil does not read them.
"""

from __future__ import annotations

import os
from typing import Final

_STATE: Final = 0
_USER_TICKS, _SYSTEM_TICKS, _START_TICKS = 11, 12, 19
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def fields(pid: int) -> list[str]:
    """The fields after the name, the state first; empty if there is no such process, or if they cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # as bytes: a codec may be a file to import, a second one
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def state(pid: int) -> str:
    """The state, one letter: `R`, `S`, `T`, `Z`, ...; '' if there is no such process."""
    found = fields(pid)
    return found[_STATE] if found else ""


def is_alive(pid: int) -> bool:
    """Whether the process runs. A zombie does not; one whose state cannot be read, as without a free descriptor, does
    as long as there is one with this PID."""
    found = state(pid)
    return found != "Z" if found else _is_there(pid)


def is_stopped(pid: int) -> bool:
    """Whether SIGSTOP or a tracer has stopped the process."""
    return state(pid) in ("T", "t")


def start_ticks(pid: int) -> str:
    """The start time in clock ticks since boot, which distinguishes a process from a later one with its PID; '' if
    unknown."""
    found = fields(pid)
    return found[_START_TICKS] if found else ""


def _is_there(pid: int) -> bool:
    """Whether there is a process with this PID, a zombie included, by a call that needs no descriptor."""
    try:
        if pid > 0:  # others mean groups of processes
            os.kill(pid, 0)
            return True
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        pass
    return False


def started(pid: int) -> float | None:
    """The start time in seconds since boot; None if there is no such process."""
    found = fields(pid)
    return int(found[_START_TICKS]) / _TICKS if found else None


def cpu_seconds(pid: int) -> float:
    """User and system time so far, in seconds; 0 if there is no such process."""
    found = fields(pid)
    return (int(found[_USER_TICKS]) + int(found[_SYSTEM_TICKS])) / _TICKS if found else 0.0
