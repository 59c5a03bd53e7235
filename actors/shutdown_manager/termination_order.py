"""Whose turn it is to end while the node is shut down. Pure.

Groups of pods end one after the other, low priorities first. A group has its window; it may be over sooner, and what
has not ended by then is waited for no more. Orders are repeated: who was to perform them may have been replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

import msgspec

from actors.shared.config.fields.shutdown_windows import Window
from actors.status_manager.messages import LivePod

REPEAT_SECONDS: Final = 1.0


class Order(msgspec.Struct, frozen=True):
    """End this pod."""

    pod: LivePod
    grace_seconds: int
    first: bool
    """It was not told before."""


class Ending:
    """The end of all pods. Times are seconds of a clock that nobody sets."""

    def __init__(self, windows: Sequence[Window], now: float) -> None:
        self._windows, self._at, self._since = windows, 0, now
        self._given: dict[str, tuple[int, float]] = {}
        """Seconds of grace by UID, and when that was said last."""
        self.late: list[LivePod] = []
        """Those that had not ended when their window had passed."""

    @property
    def over(self) -> bool:
        return self._at >= len(self._windows)

    def step(self, pods: Iterable[LivePod], now: float, *, complete: bool = True) -> list[Order]:
        """What is to be ordered now. Not `complete`: there may be others, so nobody's turn is over before its time."""
        there = [pod for pod in pods if not pod.finished]
        orders = self._orders(there, now)
        while not self.over and self._turn_is_over(there, now, complete):
            orders += self._orders(there, now)
        return orders

    def _orders(self, pods: list[LivePod], now: float) -> list[Order]:
        """Also to those whose turn has passed: they were too slow, or came only now."""
        due = [pod for pod in pods if group(pod.priority, self._windows) <= self._at]
        return [order for pod in due if (order := self._order(pod, now)) is not None]

    def _turn_is_over(self, pods: list[LivePod], now: float, complete: bool) -> bool:
        """Then it is the next group's."""
        left = [pod for pod in pods if group(pod.priority, self._windows) == self._at]
        end = self._since + self._windows[self._at].seconds
        if now < end and (left or not complete):
            return False
        self.late += left
        self._at, self._since = self._at + 1, min(now, end)
        return True

    def _order(self, pod: LivePod, now: float) -> Order | None:
        """The grace is the same each time: it is what is left of the window when the pod is told first."""
        left = 0.0 if self.over else self._since + self._windows[self._at].seconds - now
        grace, said = self._given.get(pod.uid, (min(max(0, ceil(left)), pod.grace_seconds), now - REPEAT_SECONDS))
        if now < said + REPEAT_SECONDS:
            return None
        first = pod.uid not in self._given
        self._given[pod.uid] = grace, now
        return Order(pod, grace, first)


def group(priority: int, windows: Sequence[Window]) -> int:
    """Which window is that of pods of this priority: the highest that is not above it, else the lowest."""
    return max((at for at, window in enumerate(windows) if window.priority <= priority), default=0)
