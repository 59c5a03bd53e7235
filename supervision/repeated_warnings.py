"""Warnings that come again and again. Of something that is retried, each is logged once, until it succeeds; of what
others cause as often as they like, once in a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from math import inf
from typing import Final

PAUSE_SECONDS: Final = 10.0


class RepeatedWarnings:
    """The current warnings, by a key of the retried operation."""

    def __init__(self, log: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._log = log
        self._logged: set[str] = set()

    def warn(self, key: str, text: str) -> None:
        if key not in self._logged:
            self._logged.add(key)
            self._log.warning("%s", text)

    def resolved(self, key: str) -> bool:
        """Forget the warning. Returns whether there was one."""
        was = key in self._logged
        self._logged.discard(key)
        return was


class FrequentWarnings:
    """Each is logged when it comes first, and then once in ten seconds at most, with the number of those before it that
    were not: a flood of connections is no flood of lines."""

    def __init__(
        self,
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._clock = log, clock
        self._last: dict[str, tuple[float, int]] = {}
        """When each was logged, and how often it came since; by its key."""

    def warn(self, key: str, text: str) -> None:
        """`key`: one of a few, of no text that others choose."""
        now = self._clock()
        logged_at, unlogged = self._last.get(key, (-inf, 0))
        if now - logged_at < PAUSE_SECONDS:
            self._last[key] = logged_at, unlogged + 1
            return
        self._last[key] = now, 0
        self._log.warning("%s%s", text, f" ({unlogged} more of these since the last line)" if unlogged else "")
