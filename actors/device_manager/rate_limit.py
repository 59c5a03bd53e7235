"""Limits the rate at which a stream from a plugin is read, so that a flood does not slow down others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from actors.shared.token_bucket import TokenBucket

MESSAGES_A_SECOND: Final = 10.0
BURST: Final = 20
MOST_SHARE: Final = 0.1
"""The share of this process's time that one stream may use after its burst."""


class MessageRate:
    """The rate of one stream. Unread messages wait at their sender."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(MESSAGES_A_SECOND, BURST)

    async def after(self, started_at: float) -> None:
        """Wait until the next message is read. `started_at`: the start of the work for this one, by time.monotonic."""
        await asyncio.sleep(self.pause(started_at, time.monotonic()))

    def pause(self, started_at: float, now: float) -> float:
        """Seconds."""
        return max(self._bucket.reserve(now), (now - started_at) * (1 / MOST_SHARE - 1))


class SharedTime:
    """The share of this process's time that several streams use together: MOST_SHARE, one message at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the work, which costs the others as much time as it leaves this process."""
        async with self._turn:
            started_at = time.monotonic()
            yield
            await asyncio.sleep((time.monotonic() - started_at) * (1 / MOST_SHARE - 1))
