"""When the next round takes place: after the regular interval, or at once when memory falls below a threshold.

Memory is observed while the node is cleaned up, too, while the disk usage of pods is measured, and while pods with a
longer grace period end: none of it may take so long that the kernel ends processes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from actors.shared.config.fields.eviction import Threshold
from actors.shared.linux.cgroup_tree import CgroupTree
from supervision.actor import Actor

from .memory_notices import MemoryNotices
from .node_observer import NodeObservations, NodeObserver
from .pod_evictions import REPEAT_SECONDS, PodEvictions
from .thresholds import SignalObservation, headroom, is_met

ROUND_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 30.0
"""Seconds that the next round waits for evicted pods to end."""
POLL_SECONDS: Final = 0.25
"""Interval between observations of memory that is only just above a threshold."""
FILL_BYTES_A_SECOND: Final = 2 << 30
"""Assumed rate at which a node fills its memory: the next observation comes before the headroom can be gone."""


class RoundTimer:
    """Waits for one round after the other. `clock`: monotonic seconds."""

    def __init__(
        self, actor: Actor, observer: NodeObserver, watched: Iterable[Threshold], clock: Callable[[], float]
    ) -> None:
        self._actor, self._observer, self._clock = actor, observer, clock
        self._watched = tuple(watched)
        self._wakeup = asyncio.Event()
        self._notices: MemoryNotices | None = None
        self._soon = False

    def listen(self, tree: CgroupTree, *, notifies: bool, proc: str) -> None:
        """Take the kernel's notices of memory into account, too. `notifies`: kernelMemcgNotification."""
        self._notices = MemoryNotices(tree, self.wake, self._actor.log, notifies=notifies, proc=proc)
        self._notices.start()

    def wake(self) -> None:
        """End the present pause."""
        self._wakeup.set()

    async def until_ended(self, evictions: PodEvictions) -> bool:
        """Wait until the evicted pods have ended, for each pod once. Returns as `until_next`."""
        end, met = self._clock() + SETTLE_SECONDS, self._memory_thresholds_met()
        while evictions.awaited and self._clock() < end:
            await self._sleep(POLL_SECONDS if evictions.has_time else REPEAT_SECONDS)
            if evictions.has_time and self._memory_thresholds_met() - met:
                return False
        evictions.give_up()
        return True

    async def until_done(self, work: asyncio.Task[Any], observed: NodeObservations) -> bool:
        """Wait for a part of a round that may take long. Returns as `until_next`. `observed`: by the round."""
        work.add_done_callback(lambda _: self.wake())
        met = self._met(observed.signals)
        while not work.done():
            await self._sleep(POLL_SECONDS)
            if not work.done() and self._memory_thresholds_met() - met:
                return False
        return True

    def again_soon(self) -> None:
        """The next pause is short: the pods were not known."""
        self._soon = True

    async def until_next(self, started_at: float, last: NodeObservations) -> bool:
        """Wait until the next round. Returns False when memory fell below a threshold before the regular round: that
        round observes memory only. `started_at`: the start of the last round, by the clock; `last`: its observation."""
        was_met = self._met(last.signals)
        if self._notices is not None:
            self._notices.arm(self._watched, last.signals, self._observer.kubepods)
        seconds, self._soon = REPEAT_SECONDS if self._soon else ROUND_SECONDS, False
        while (remaining := started_at + seconds - self._clock()) > 0:
            room = headroom(self._watched, last.signals)
            pause = remaining if room is None else min(remaining, max(POLL_SECONDS, room / FILL_BYTES_A_SECOND))
            await self._sleep(pause)
            last = NodeObservations(self._observer.memory())
            if self._met(last.signals) - was_met:
                return False
        return True

    def _memory_thresholds_met(self) -> frozenset[Threshold]:
        return self._met(self._observer.memory())

    def _met(self, signals: Mapping[str, SignalObservation]) -> frozenset[Threshold]:
        return frozenset(one for one in self._watched if is_met(one, signals))

    async def _sleep(self, seconds: float) -> None:
        timer = self._actor.after(seconds, self.wake)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()
        self._wakeup.clear()
