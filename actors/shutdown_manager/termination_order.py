"""In which order pods end when the node shuts down. Pure.

Groups of pods end one after the other, low priorities first. Each group has a window. The next group follows when all
pods of a group have ended, or when its window is over. Orders are repeated, because a worker may have restarted.
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
    """The pod was not ordered to end before."""


class TerminationOrder:
    """The termination of all pods. Times are seconds of a monotonic clock."""

    def __init__(self, windows: Sequence[Window], now: float) -> None:
        self._windows, self._at, self._window_started_at = windows, 0, now
        self._ordered: dict[str, tuple[int, float]] = {}
        """By UID: seconds of grace, and when the pod was ordered last."""
        self.late: list[LivePod] = []
        """The pods that had not ended when their window was over."""

    @property
    def over(self) -> bool:
        return self._at >= len(self._windows)

    def step(self, pods: Iterable[LivePod], now: float, *, complete: bool = True) -> list[Order]:
        """The orders that are due. Not `complete`: there may be other pods, so no window is over before its time."""
        there = [pod for pod in pods if not pod.finished]
        orders = self._orders(there, now)
        while not self.over and self._window_over(there, now, complete):
            orders += self._orders(there, now)
        return orders

    def _orders(self, pods: list[LivePod], now: float) -> list[Order]:
        """Also to pods of earlier groups: they were too slow, or are seen only now."""
        due = [pod for pod in pods if group(pod.priority, self._windows) <= self._at]
        return [order for pod in due if (order := self._order(pod, now)) is not None]

    def _window_over(self, pods: list[LivePod], now: float, complete: bool) -> bool:
        """Whether the next group's window has started."""
        left = [pod for pod in pods if group(pod.priority, self._windows) == self._at]
        end = self._window_started_at + self._windows[self._at].seconds
        if now < end and (left or not complete):
            return False
        self.late += left
        self._at, self._window_started_at = self._at + 1, min(now, end)
        return True

    def _order(self, pod: LivePod, now: float) -> Order | None:
        """The grace period stays the rest of the window at the pod's first order."""
        left = 0.0 if self.over else self._window_started_at + self._windows[self._at].seconds - now
        grace, ordered = self._ordered.get(pod.uid, (min(max(0, ceil(left)), pod.grace_seconds), now - REPEAT_SECONDS))
        if now < ordered + REPEAT_SECONDS:
            return None
        first = pod.uid not in self._ordered
        self._ordered[pod.uid] = grace, now
        return Order(pod, grace, first)


def group(priority: int, windows: Sequence[Window]) -> int:
    """The window of pods of this priority: the highest that is not above it, else the lowest."""
    return max((at for at, window in enumerate(windows) if window.priority <= priority), default=0)
