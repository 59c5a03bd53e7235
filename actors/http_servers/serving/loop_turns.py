"""Shares the turns of the server's loop among its streams.

Hundreds of streams that have data at once must not keep the loop from its timers for seconds: the server would count as
hung, and be replaced with all its streams.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

MOST: Final = 32
"""Pieces of up to 64 KiB in one turn: some 20 ms of work, and 0.2 s on a very busy machine."""


class LoopTurns:
    """Lets at most `most` callers pass in one turn of the loop, in the order in which they come."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._passed = most, 0
        self.counts = False
        """Whether a turn is counted: without callers none is."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn with room."""
        loop = asyncio.get_running_loop()
        if not self.counts:
            self.counts = True
            loop.call_soon(self._start_turn)
        if self._passed < self._most and not self._waiting:
            self._passed += 1
            return
        place = loop.create_future()
        self._waiting.append(place)
        await place

    def _start_turn(self) -> None:
        self._passed, self.counts = 0, bool(self._waiting)
        while self._waiting and self._passed < self._most:
            place = self._waiting.popleft()
            if not place.done():  # its caller was cancelled
                place.set_result(None)
                self._passed += 1
        if self.counts:
            asyncio.get_running_loop().call_soon(self._start_turn)
