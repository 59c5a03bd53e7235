"""A clock that only a test moves."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

from ..actor import Timer


class VirtualClock:
    """Call it for the time in seconds; pass it wherever a clock is needed."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start
        self._heap: list[tuple[float, int, _Due]] = []
        self._order = itertools.count()

    def __call__(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        due = _Due(call)
        heapq.heappush(self._heap, (self.now + seconds, next(self._order), due))
        return due

    def pop_due(self, until: float) -> Callable[[], None] | None:
        """Remove and return the next call due by `until`, and set the clock to its time. Without one, set the clock to
        `until` and return None."""
        while self._heap and self._heap[0][0] <= until:
            when, _, due = heapq.heappop(self._heap)
            if not due.cancelled:
                self.now = max(self.now, when)
                return due.call
        self.now = max(self.now, until)
        return None


class _Due:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call, self.cancelled = call, False

    def cancel(self) -> None:
        self.cancelled = True
