"""The facts about a name that outlive its processes."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..process_messages import BY_ORDER, Cause, Exited, ServiceState, ended_orderly, gave_up


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
    by_order: bool = True
    """Whether the last one was stopped, or killed since its supervisor had ended. True before the first one of this
    fork server: those of an earlier one ended with it, whatever they had in hand."""

    def after(self, exited: Exited, now: float) -> ExitHistory:
        """The record with one more end."""
        if gave_up(exited):
            return ExitHistory(now, False, self.gave_up + 1, now, by_order=False)
        return ExitHistory(now, ended_orderly(exited), self.gave_up, self.gave_up_at, exited.cause in BY_ORDER)


class LastIncident:
    """The last incident of a name: its cause, and when it was (CLOCK_MONOTONIC seconds)."""

    def __init__(self) -> None:
        self._last: tuple[Cause, float] | None = None
        self._open = False
        """The name is not in service again."""
        self.count = 0
        """Since the fork server started."""

    def opened(self, cause: Cause, now: float) -> None:
        self.count += 1
        self._last, self._open = (cause, now), True

    def closed(self) -> bool:
        """The name is in service. Returns whether that closes an incident."""
        was_open, self._open = self._open, False
        return was_open

    def age(self, now: float) -> float:
        """Seconds; 0.0 if there was none."""
        return 0.0 if self._last is None else now - self._last[1]

    def text(self, now: float) -> str:
        """Cause and age; '' if there was none."""
        return "" if self._last is None else f"{self._last[0]} {_age(int(self.age(now)))} ago"


class ServiceTroubles:
    """The outside services that an actor has reported as not answering; its next incarnation withdraws them."""

    def __init__(self) -> None:
        self._troubles: dict[str, ServiceState] = {}

    def reported(self, report: ServiceState) -> None:
        """Apply a report. A trouble that is reported again counts from its first report."""
        before = self._troubles.pop(report.service, None)
        if report.text:
            since = report.since if before is None else min(before.since, report.since)
            self._troubles[report.service] = msgspec.structs.replace(report, since=since)

    def current(self) -> list[ServiceState]:
        return list(self._troubles.values())


def _age(seconds: int) -> str:
    """`42s`, `3m7s`, `5h12m`."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{rest}s" if minutes else f"{rest}s"
    return f"{minutes // 60}h{minutes % 60}m"
