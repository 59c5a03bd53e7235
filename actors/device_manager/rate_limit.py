"""Limits the rate at which a stream from a plugin is read, so that a flood does not slow down others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from actors.shared.token_bucket import TokenBucket
from supervision.actor import Actor

MESSAGES_A_SECOND: Final = 10.0
BURST: Final = 20
CHEAP_SECONDS: Final = 0.2
"""So much work is done at once; more of it, also in many small pieces, is put off."""
MOST_SHARE: Final = 0.1
"""The share of this process's time that one stream may use after its burst, and that all costly ones may use."""


class MessageRate:
    """The rate of one stream. Unread messages wait at their sender."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(MESSAGES_A_SECOND, BURST)
        self._exceeded = False

    @property
    def exceeded(self) -> bool:
        """Whether the stream has used up its burst, and does not keep to the rate."""
        return self._exceeded

    async def after(self, started_at: float) -> None:
        """Wait until the next message is read. `started_at`: the start of the work for this one, by time.monotonic."""
        await asyncio.sleep(self.pause(started_at, time.monotonic()))

    def pause(self, started_at: float, now: float) -> float:
        """Seconds."""
        wait = self._bucket.reserve(now)
        self._exceeded = wait > 0
        return max(wait, (now - started_at) * (1 / MOST_SHARE - 1))


class SharedTime:
    """The share of this process's time that several streams use together: MOST_SHARE, one message at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, *, small: bool = False) -> AsyncIterator[None]:
        """Wait for the turn of the work, which the next one then waits for, too. `small`: the work costs next to
        nothing, and waits for no other."""
        if small:
            yield
            return
        async with self._turn:
            started_at = time.monotonic()
            yield
            await asyncio.sleep((time.monotonic() - started_at) * (1 / MOST_SHARE - 1))


class PacedWork:
    """Work that is asked for at any time. Once it costs much, it is done a little later, once for all that asked."""

    def __init__(self, actor: Actor, work: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._actor, self._work, self._clock = actor, work, clock
        self._not_before = float("-inf")
        self._waits = False
        self._excess, self._counted_at = 0.0, clock()
        """Seconds of work beyond MOST_SHARE, as of `_counted_at`."""

    def ask(self) -> None:
        """Do it now, or as soon as it has its share of the time again."""
        pause = self._not_before - self._clock()
        if pause <= 0:
            self._do()
        elif not self._waits:
            self._waits = True
            self._actor.after(pause, self._do)

    def _do(self) -> None:
        self._waits, started_at = False, self._clock()
        self._work()
        ended_at = self._clock()
        paid = (started_at - self._counted_at) * MOST_SHARE
        self._excess = max(0.0, self._excess - paid) + (ended_at - started_at) * (1 - MOST_SHARE)
        self._counted_at = ended_at
        if self._excess > CHEAP_SECONDS:
            self._not_before = ended_at + self._excess / MOST_SHARE
