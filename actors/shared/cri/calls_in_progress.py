"""The calls of one task, and of the tasks that it starts, that the runtime has not answered yet.

    calls = CallsInProgress(actor.after, clock, changed)
    calls.watch()                                   # in the task

So a pod whose start or end makes no progress can be shown with the call that it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from supervision.actor import Timer

SLOW_SECONDS: Final = 10.0
"""Seconds after which a call is reported. Most take milliseconds."""


class CallsInProgress:
    """The methods of calls that are slow, with the times at which they began."""

    def __init__(
        self,
        after: Callable[[float, Callable[[], None]], Timer],
        clock: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        """`clock`: seconds since 1970. `changed` is called when another call is the oldest slow one, or none is."""
        self._after, self._clock, self._changed = after, clock, changed
        self._slow: dict[int, tuple[str, float]] = {}
        self._calls = 0

    @property
    def oldest(self) -> tuple[str, float]:
        """The method and start of the slow call that began first; ('', 0.0): none is slow."""
        return min(self._slow.values(), key=lambda one: one[1], default=("", 0.0))

    def watch(self) -> None:
        """Watch the calls of the current task from now on."""
        _CURRENT.set(self)

    @contextmanager
    def around(self, method: str) -> Iterator[None]:
        """Watch one call."""
        self._calls += 1
        number, started_at = self._calls, self._clock()

        def note_slow() -> None:
            self._update(lambda: self._slow.setdefault(number, (method, started_at)))

        timer = self._after(SLOW_SECONDS, note_slow)
        try:
            yield
        finally:
            timer.cancel()
            if number in self._slow:
                self._update(lambda: self._slow.pop(number))

    def _update(self, change: Callable[[], object]) -> None:
        before = self.oldest
        change()
        if self.oldest != before:
            self._changed()


_CURRENT: Final[ContextVar[CallsInProgress | None]] = ContextVar("calls in progress", default=None)


@contextmanager
def watched(method: str) -> Iterator[None]:
    """Around a call to the runtime: the task's CallsInProgress, if it has one, knows of it."""
    calls = _CURRENT.get()
    if calls is None:
        yield
        return
    with calls.around(method):
        yield
