"""The fork server's event loop: readiness, timers, signals. Plain selectors, so that forking out of it is safe."""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import signal
import time
from collections.abc import Callable

Call = Callable[[], None]
_WAKE_BYTES = 64 * 1024
"""The capacity of a pipe."""


class ScheduledCall:
    """A scheduled call."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call: Call | None = call

    def cancel(self) -> None:
        self.call = None


class Loop:
    """Runs until `stop` is called."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, ScheduledCall]] = []
        self._order = itertools.count()
        self._signals: dict[int, Call] = {}
        self._wake_in, self._wake_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._running = True
        self.watch(self._wake_in, self._on_wake)

    def fds(self) -> list[int]:
        """Its own descriptors, which every child closes."""
        return [self._selector.fileno(), self._wake_in, self._wake_out]

    # -- readiness ------------------------------------------------------------------------------------------------
    def watch(self, fd: int, readable: Callable[[], object], writable: Call | None = None) -> None:
        """Call back when the descriptor is readable, or writable if asked for. Replaces an earlier watch."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writable else 0)
        if fd in self._selector.get_map():
            self._selector.modify(fd, events, (readable, writable))
        else:
            self._selector.register(fd, events, (readable, writable))

    def forget(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    # -- timers ---------------------------------------------------------------------------------------------------
    def call_later(self, seconds: float, call: Call) -> ScheduledCall:
        timer = ScheduledCall(call)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def _next_timeout(self) -> float | None:
        while self._timers and self._timers[0][2].call is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _run_due(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            call = heapq.heappop(self._timers)[2].call
            if call is not None:
                call()

    # -- signals --------------------------------------------------------------------------------------------------
    def on_signal(self, number: int, call: Call) -> None:
        """Call back when the signal arrives, from the loop only."""
        self._signals[number] = call
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)
        signal.signal(number, lambda *_: None)

    def _on_wake(self) -> None:
        try:
            numbers = os.read(self._wake_in, _WAKE_BYTES)
        except BlockingIOError:
            return
        # several SIGCHLD are merged, and one that a full pipe has lost is made up for; two SIGTERM must be counted
        for number in (signal.SIGCHLD, *(n for n in numbers if n != signal.SIGCHLD)):
            if number in self._signals:
                self._signals[number]()

    # -- running --------------------------------------------------------------------------------------------------
    def run(self) -> None:
        """Run until `stop`."""
        while self._running:
            for key, events in self._selector.select(self._next_timeout()):
                readable, writable = key.data
                if events & selectors.EVENT_WRITE and writable is not None:
                    writable()
                if events & selectors.EVENT_READ and key.fd in self._selector.get_map():
                    readable()
            self._run_due()

    def stop(self) -> None:
        self._running = False
