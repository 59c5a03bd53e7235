"""The subject of a task, such as a pod. The status page shows it while a step of the task runs; tasks that it starts
inherit it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple, Protocol


class InputRecord(Protocol):
    """Records the current input, so that the next incarnation knows what this one died on (`quarantine.py`)."""

    def start(self) -> None: ...
    def end(self) -> None: ...


class Work(NamedTuple):
    """The subject of a task or call."""

    label: str
    """The text on the status page: a message type, a function's name, or kind and subject, such as `pod UID`."""
    record: InputRecord | None = None
    """Told at the beginning and the end of each step."""
    allowance_seconds: float = 0.0
    """Seconds that one step may hold the loop, if that is more than the policy's busy_seconds."""


CURRENT: ContextVar[Work | None] = ContextVar("CURRENT", default=None)
"""None: the purpose of the task is unknown, as with a library's own tasks."""
