"""An event loop whose time jumps to the next timer whenever nothing is left to do: five minutes pass in no time.

Sockets on this host's loopback work beside it: what they bring is waited for, for a moment of real time, before a jump.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

BEGIN = 1000.0
"""The monotonic clock at the start, seconds."""
PATIENCE_SECONDS = 0.002
"""How long data of an open connection is waited for."""
STUCK_SECONDS = 10.0
"""After so long without anything to wait for, the loop is stuck."""


class _Selector(selectors.DefaultSelector):
    """Never waits for a timer: moves the clock instead."""

    def __init__(self, move: Callable[[float], None]) -> None:
        super().__init__()
        self._move = move
        self._own = 1
        """What the loop registers for itself: its self-pipe."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        connected = len(self.get_map() or {}) > self._own
        if timeout is None:
            found = super().select(STUCK_SECONDS)
            if not found:
                raise TimeoutError("nothing is left that could happen")
            return found
        found = super().select(PATIENCE_SECONDS if connected and timeout > 0 else 0)
        if not found and timeout > 0:
            self._move(timeout)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is `now`, in seconds; `wall()` is that since 1970."""

    def __init__(self) -> None:
        self.now, self._wall = BEGIN, float(int(time.time()))
        super().__init__(_Selector(self._pass))

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def time(self) -> float:
        return self.now

    def wall(self) -> float:
        """Seconds since 1970; began with the real time, at a whole second."""
        return self._wall + self.now - BEGIN

    def wall_ns(self) -> int:
        """Nanoseconds since 1970."""
        return round(self.wall() * 1e9)


@contextmanager
def virtual_time() -> Iterator[VirtualLoop]:
    """A loop whose clock is that of the whole process."""
    loop = VirtualLoop()
    with (
        patch.object(time, "time", loop.wall),
        patch.object(time, "time_ns", loop.wall_ns),
        patch.object(time, "monotonic", loop.time),
    ):
        try:
            yield loop
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def run(main: Callable[[VirtualLoop], Coroutine[Any, Any, None]]) -> None:
    """Run it in virtual time."""
    with virtual_time() as loop:
        loop.run_until_complete(main(loop))
