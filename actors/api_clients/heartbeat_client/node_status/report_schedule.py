"""When an unchanged status is written again: at the report frequency, shifted by chance after each change. Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class ReportSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """Times are of the monotonic clock, in seconds."""

    every: float
    """nodeStatusReportFrequency."""
    last: float | None = None
    delay: float = 0.0

    def due(self, changed: bool, now: float) -> bool:
        return changed or self.last is None or now - self.last >= self.every + self.delay

    def reported(self, changed: bool, now: float, rng: Callable[[], float]) -> ReportSchedule:
        """The schedule after a report. The shift keeps nodes that changed together from reporting together."""
        delay = (rng() - 0.5) * self.every if changed else 0.0
        return msgspec.structs.replace(self, last=now, delay=delay)
