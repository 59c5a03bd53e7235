"""Queues orders for disposable processes, starts these in turns and within limits, and kills them at their deadline.

A process that does not end on SIGKILL (it waits in the kernel) is abandoned: its order is answered, it counts against a
limit, and it is reaped if it ever ends.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import error_text
from ..process_messages import DISPOSABLE_GRACE_SECONDS, DisposableResult, RunDisposable
from ..time_scale import scaled
from . import disposable_process
from .loop import Loop, ScheduledCall
from .oom_kills import OomKills

MOST_AT_ONCE = 32
MOST_OF_ONE_OWNER = 24
"""The most processes of one actor, running or abandoned; the other places are for the other actors."""
MOST_BUSY = 2 * (os.cpu_count() or 1)
"""The limit of running processes that started within the last `_BUSY_SECONDS`: more would slow each other down. Older
ones wait in the kernel and use no processor."""
_BUSY_SECONDS = 0.5
MOST_ABANDONED = 64
"""With more processes than this in total, an actor may have at most `ALWAYS_ALLOWED`."""
ALWAYS_ALLOWED = 2
"""The number of processes that each actor may always have, even while others' processes hang."""
_ABANDON_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Order:
    owner: str
    order: RunDisposable
    answer: Callable[[DisposableResult], None]
    pid: int = 0
    output: int = -1
    nobody_waits_at: float = math.inf
    """CLOCK_MONOTONIC seconds when the actor stops waiting."""
    timer: ScheduledCall | None = None
    started_at: float = 0.0
    timed_out: bool = False
    answered: bool = False


class Disposables:
    """The running, queued and abandoned processes."""

    def __init__(
        self,
        loop: Loop,
        private_fds: Callable[[], Iterable[int]],
        oom_kills: OomKills,
        kill: Callable[[int, int], None] = os.kill,
    ) -> None:
        self._loop, self._private_fds, self._oom_kills, self._kill = loop, private_fds, oom_kills, kill
        self._waiting: dict[str, deque[_Order]] = {}
        """The waiting orders of each owner, oldest first. Owners take turns; the next one comes first."""
        self._running: dict[int, _Order] = {}
        self._abandoned: dict[int, _Order] = {}
        self._later: ScheduledCall | None = None

    @property
    def abandoned(self) -> int:
        """Processes that cannot be killed."""
        return len(self._abandoned)

    @property
    def running(self) -> int:
        return len(self._running)

    def fds(self) -> list[int]:
        return [order.output for order in (*self._running.values(), *self._abandoned.values())]

    def run(self, owner: str, order: RunDisposable, answer: Callable[[DisposableResult], None]) -> None:
        """Queue the order. `answer` is called once, at the latest one second after the deadline, which counts from its
        start. An order is refused if it could not start while its owner waited, or if too many processes of its owner
        hang."""
        if wrong := self._refusal(owner):
            answer(DisposableResult(kind="Refused", text=wrong))
            return
        if any(_is_same(order, one.order) for one in self._abandoned.values()):
            answer(DisposableResult(timed_out=True, text=f"{order.function} hangs already with the same arguments"))
            return
        nobody_waits_at = time.monotonic() + order.deadline + scaled(DISPOSABLE_GRACE_SECONDS)
        queue = self._waiting.setdefault(owner, deque())
        queue.append(_Order(owner, order, answer, nobody_waits_at=nobody_waits_at))
        self._start_waiting()

    def forget(self, owner: str) -> None:
        """The actor that ordered them has ended: drop their results."""
        self._waiting.pop(owner, None)
        for order in self._running.values():
            if order.owner == owner:
                order.answered = True
                self._kill(order.pid, signal.SIGKILL)

    def kill_all(self) -> None:
        self._waiting.clear()
        for order in (*self._running.values(), *self._abandoned.values()):
            self._kill(order.pid, signal.SIGKILL)

    def reaped(self, pid: int, status: int) -> bool:
        """Handle the end of a process. Returns whether it was a disposable one."""
        order = self._running.pop(pid, None) or self._abandoned.pop(pid, None)
        if order is None:
            return False
        if order.timer is not None:
            order.timer.cancel()
        why = self._why_killed(order, status)
        result = disposable_process.result_of(order.order, order.output, status, why)
        self._answer(order, DisposableResult(timed_out=True) if order.timed_out else result)
        os.close(order.output)
        self._start_soon()
        return True

    def _why_killed(self, order: _Order, status: int) -> str:
        """Why a process that was killed from elsewhere was; '' if that is unknown."""
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        ours = order.timed_out or order.answered
        return self._oom_kills.explain(order.pid, time.monotonic()) if killed and not ours else ""

    def _start_soon(self) -> None:
        """Start in a later turn of the loop. Otherwise the reaper would find exits without end while orders wait."""
        if self._waiting:
            if self._later is not None:
                self._later.cancel()
            self._later = self._loop.call_later(0.0, self._start_later)

    def _start_waiting(self) -> None:
        while len(self._running) < MOST_AT_ONCE and self._waiting and not self._is_busy():
            order = self._take_next()
            if order is None:
                return
            order.started_at = time.monotonic()
            if order.started_at > order.nobody_waits_at:
                self._answer(order, DisposableResult(kind="Refused", text=f"{order.order.function} waited too long"))
                continue
            try:
                self._start_order(order)
            except OSError as error:  # no free descriptor or process: the caller may retry
                order.answer(
                    DisposableResult(kind=type(error).__name__, text=error_text(error), errno=error.errno or 0)
                )
                continue
            self._running[order.pid] = order
            order.timer = self._loop.call_later(order.order.deadline, lambda order=order: self._overdue(order))  # type: ignore[misc]

    def _most_of_one(self) -> int:
        return ALWAYS_ALLOWED if len(self._abandoned) >= MOST_ABANDONED else MOST_OF_ONE_OWNER

    def _refusal(self, owner: str) -> str:
        """Why no order of the owner can start before one of its abandoned processes ends; '' if one can."""
        own = _count(self._abandoned)[owner]
        if own < self._most_of_one():
            return ""
        return f"{len(self._abandoned)} disposable processes hang already, {own} of them of {owner}"

    def _refuse_waiting(self) -> None:
        for owner in list(self._waiting):
            if wrong := self._refusal(owner):
                for order in self._waiting.pop(owner):
                    self._answer(order, DisposableResult(kind="Refused", text=wrong))

    def _take_next(self) -> _Order | None:
        """Remove the next order from its queue and return it; None if each waiting owner already has its share."""
        taken, most = _count(self._running) + _count(self._abandoned), self._most_of_one()
        owner = next((owner for owner in self._waiting if taken[owner] < most), None)
        if owner is None:
            return None
        queue = self._waiting.pop(owner)
        order = queue.popleft()
        if queue:
            self._waiting[owner] = queue
        return order

    def _start_order(self, order: _Order) -> None:
        """Raises OSError if the fork fails."""
        order.pid, order.output = disposable_process.start(order.order, list(self._private_fds()))

    def _is_busy(self) -> bool:
        """Whether the limit of busy processes is reached. The next one then starts when one ends or no longer counts as
        busy."""
        busy_since = time.monotonic() - _BUSY_SECONDS
        if sum(order.started_at > busy_since for order in self._running.values()) < MOST_BUSY:
            return False
        if self._later is None:
            self._later = self._loop.call_later(_BUSY_SECONDS / 2, self._start_later)
        return True

    def _start_later(self) -> None:
        self._later = None
        self._start_waiting()

    def _overdue(self, order: _Order) -> None:
        order.timed_out = True
        self._kill(order.pid, signal.SIGKILL)
        order.timer = self._loop.call_later(scaled(_ABANDON_SECONDS), lambda: self._abandon(order))

    def _abandon(self, order: _Order) -> None:
        self._running.pop(order.pid, None)
        self._abandoned[order.pid] = order
        text = f"{order.order.function} still ran after {order.order.deadline:g} s and cannot be killed: abandoned"
        self._answer(order, DisposableResult(timed_out=True, text=text))
        self._refuse_waiting()
        self._start_waiting()

    def _answer(self, order: _Order, result: DisposableResult) -> None:
        if not order.answered:
            order.answered = True
            order.answer(result)


def _count(orders: dict[int, _Order]) -> Counter[str]:
    """The number of orders by owner."""
    return Counter(order.owner for order in orders.values())


def _is_same(one: RunDisposable, other: RunDisposable) -> bool:
    """Whether two orders are the same call. A hanging call that is repeated takes only one place."""
    return (one.function, one.arguments) == (other.function, other.arguments)
