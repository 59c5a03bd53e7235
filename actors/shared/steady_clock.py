"""A clock for ages that are kept for longer than a process lives."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_clock(
    wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
) -> Callable[[], float]:
    """Seconds since 1970 by the wall clock at the time of this call, and from then on by the monotonic clock: it goes
    on evenly when the wall clock is set."""
    offset = wall() - monotonic()
    return lambda: monotonic() + offset
