"""The facts about a name that outlive its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from ..process_messages import (
    BY_ITSELF,
    BY_ORDER,
    ORDERED_END,
    Cause,
    Exited,
    LastEnd,
    ServiceState,
    ended_orderly,
    gave_up,
)


@dataclass(slots=True, frozen=True)
class ExitHistory:
    """How the processes of one name have ended. Times are CLOCK_MONOTONIC seconds."""

    at: float = 0.0
    """When the last one ended; 0: none has."""
    orderly: bool = False
    """Whether that one ended by itself with exit code 0."""
    gave_up: int = 0
    """For a supervisor: how many have given up."""
    gave_up_at: float = 0.0
    last_end: LastEnd = ORDERED_END
    """How the last one ended. By order before the first one of this fork server: those of an earlier one ended with
    it, whatever they had in hand."""

    def after(self, exited: Exited, now: float, *, supervisor: bool) -> ExitHistory:
        """The record with one more end. `supervisor`: only of one of these the exit code says that it gave up."""
        if supervisor and gave_up(exited):
            return ExitHistory(now, False, self.gave_up + 1, now, BY_ITSELF)
        last_end = LastEnd(exited.cause in BY_ORDER, exited.memory_bytes)
        return ExitHistory(now, ended_orderly(exited), self.gave_up, self.gave_up_at, last_end)


class LastIncident:
    """The last incident of a name: its cause, and when it was (CLOCK_MONOTONIC seconds)."""

    def __init__(self) -> None:
        self._last: tuple[Cause, float] | None = None
        self.is_open = False
        """The name is not in service again."""
        self.count = 0
        """Since the fork server started."""

    def opened(self, cause: Cause, now: float) -> None:
        self.count += 1
        self._last, self.is_open = (cause, now), True

    def closed(self) -> bool:
        """The name is in service. Returns whether that closes an incident."""
        was_open, self.is_open = self.is_open, False
        return was_open

    def age(self, now: float) -> float:
        """Seconds; 0.0 if there was none."""
        return 0.0 if self._last is None else now - self._last[1]

    def text(self, now: float) -> str:
        """Cause and age; '' if there was none."""
        return "" if self._last is None else f"{self._last[0]} {_age(int(self.age(now)))} ago"


CONFIRMATION_SECONDS: Final = 60.0
"""A trouble that an earlier incarnation has reported ends when the next one has run so long without reporting it:
with another configuration it may have nothing to do with that service. All report sooner what they find."""


class ServiceTroubles:
    """The outside services that an actor has reported as not answering; its next incarnation confirms or withdraws
    them. `incarnation`, `age`: of the process of that name, in seconds; 0.0 while there is none."""

    def __init__(self) -> None:
        self._troubles: dict[str, tuple[int, ServiceState]] = {}

    def reported(self, report: ServiceState, incarnation: int, age: float) -> None:
        """Apply a report. A trouble that is reported again counts from its first report."""
        self._forget(incarnation, age)
        _, before = self._troubles.pop(report.service, (0, report))
        if report.text:
            since = min(before.since, report.since)
            self._troubles[report.service] = incarnation, msgspec.structs.replace(report, since=since)

    def current(self, incarnation: int, age: float) -> list[ServiceState]:
        self._forget(incarnation, age)
        return [report for _, report in self._troubles.values()]

    def _forget(self, incarnation: int, age: float) -> None:
        if age > CONFIRMATION_SECONDS:
            self._troubles = {name: one for name, one in self._troubles.items() if one[0] == incarnation}


def _age(seconds: int) -> str:
    """`42s`, `3m7s`, `5h12m`."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{rest}s" if minutes else f"{rest}s"
    return f"{minutes // 60}h{minutes % 60}m"
