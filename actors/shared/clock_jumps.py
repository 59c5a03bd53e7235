"""By how much the wall clock was set, found by comparison with the monotonic clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

LEAST_SECONDS: Final = 2.0
"""Less is the gradual correction by NTP, which adds up until it is as much."""


class ClockJumps:
    """`wall`: seconds since 1970; `monotonic`: a clock that nobody sets."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._offset = wall() - monotonic()

    def take(self) -> float:
        """Seconds by which the wall clock was set forward since the last call, negative if back; 0.0: not at all."""
        jump = self._wall() - self._monotonic() - self._offset
        if abs(jump) < LEAST_SECONDS:
            return 0.0
        self._offset += jump
        return jump


class WallClock:
    """Call it for seconds since 1970 by the clock that may be set."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall, self._monotonic = wall, monotonic

    def __call__(self) -> float:
        return self._wall()

    def jumps(self) -> ClockJumps:
        """The jumps from now on."""
        return ClockJumps(self._wall, self._monotonic)
