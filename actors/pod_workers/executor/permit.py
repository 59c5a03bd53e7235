"""Limits the concurrent pod starts of a shard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from supervision.actor import Timer

PERMIT_SECONDS: Final = 30.0


class Permit:
    """A pod's permit to start something. It is released while the pod waits for a slow step (a pull, a hook), and
    expires after PERMIT_SECONDS, so that hung calls block no other pod."""

    def __init__(self, slots: asyncio.Semaphore, after: Callable[[float, Callable[[], None]], Timer]) -> None:
        self._slots, self._call_after = slots, after
        self._end: Timer | None = None

    async def acquire(self) -> None:
        if self._end is None:
            await self._slots.acquire()
            self._end = self._call_after(PERMIT_SECONDS, self.release)

    def release(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
            self._slots.release()
