"""`after` and `every`, shared by the real port and the harness, which differ only in their clocks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..actor import Timer

CallLater = Callable[[float, Callable[[], None]], Timer]
"""(seconds from now, function) -> a cancellable handle, like `loop.call_later`."""

Period = timedelta | float
"""A time in Thespian's calls: a timedelta, or seconds."""

Run = Callable[[Callable[[], Any], str], "asyncio.Task[Any] | None"]
"""Calls the function; returns the task if it is a coroutine. Never raises: it handles failures itself."""


def seconds_of(period: Period) -> float:
    return period.total_seconds() if isinstance(period, timedelta) else period


class Timers:
    """Makes the timers of one actor."""

    def __init__(self, call_later: CallLater, run: Run, rng: random.Random | None = None) -> None:
        self._call_later, self._run = call_later, run
        self._rng = rng or random.Random()  # noqa: S311 - jitter, not a secret

    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        """Call once."""
        return self._call_later(max(0.0, seconds), lambda: self._fire(call))

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        """Call again and again. Raises ValueError when the period is not positive."""
        if seconds <= 0:
            raise ValueError(f"every({seconds}): the period must be positive")
        repeating = RepeatingTimer(self, seconds, call, jitter)
        repeating.schedule(0.0 if immediately else None)
        return repeating

    def _fire(self, call: Callable[[], Any]) -> None:
        self._run(call, _name_of(call))


class RepeatingTimer:
    """A periodic timer. It skips a run while the previous one still runs."""

    def __init__(self, timers: Timers, seconds: float, call: Callable[[], Any], jitter: float) -> None:
        self._timers, self._seconds, self._call, self._jitter = timers, seconds, call, jitter
        self._next: Timer | None = None
        self._task: asyncio.Task[Any] | None = None

    def schedule(self, delay: float | None = None) -> None:
        if delay is None:
            delay = self._seconds * (1 + self._jitter * self._timers._rng.random())
        self._next = self._timers._call_later(delay, self._tick)

    def _tick(self) -> None:
        self.schedule()
        if self._task is None or self._task.done():
            self._task = self._timers._run(self._call, _name_of(self._call))

    def cancel(self) -> None:
        """Prevent further runs; a current one may end."""
        if self._next is not None:
            self._next.cancel()


def _name_of(call: Callable[[], Any]) -> str:
    return getattr(call, "__qualname__", "") or type(call).__name__
