"""Restart intensity as in Erlang/OTP: a limit of restarts within a period. Pure; the clock is passed in."""

from __future__ import annotations

import msgspec


class Intensity(msgspec.Struct, frozen=True):
    """The restarts that still count: times of a monotonic clock, oldest first."""

    restarts: tuple[float, ...] = ()

    def add(self, now: float, max_restarts: int, period: float) -> tuple[Intensity, bool]:
        """Count a restart at `now`. Returns the restarts that count, and whether they are within `max_restarts` in
        `period` s.

        A restart counts for `period` seconds, the last moment included. At most `max_restarts + 1` times are kept.
        """
        recent = (*(time for time in self.restarts if now - time <= period), now)
        return Intensity(recent[-(max_restarts + 1) :]), len(recent) <= max_restarts

    def without(self, restart: float) -> Intensity:
        """Without the restart at this time, if it counts."""
        at = next((at for at, time in enumerate(self.restarts) if time == restart), len(self.restarts))
        return Intensity(self.restarts[:at] + self.restarts[at + 1 :])
