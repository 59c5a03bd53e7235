"""Clocks, and times as the API writes them (RFC 3339, in UTC, whole seconds)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import msgspec

from actors.shared.kube.times import rfc3339


class PodStatusClocks(msgspec.Struct, frozen=True):
    """Clocks and randomness, which a test replaces."""

    wall_ns: Callable[[], int] = time.time_ns
    """Nanoseconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds."""
    random: Callable[[], float] = random.random
    """0.0 to 1.0, to spread load."""

    def wall(self) -> float:
        """Seconds since 1970."""
        return self.wall_ns() / 1e9


def time_of_ns(nanoseconds: int) -> str | None:
    """A Time of the API, `2026-01-02T03:04:05Z`, of nanoseconds since 1970; None for never (0)."""
    if nanoseconds <= 0:
        return None
    return rfc3339(nanoseconds // 1_000_000_000)
