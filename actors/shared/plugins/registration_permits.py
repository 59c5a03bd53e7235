"""Permits for concurrent registrations of plugins.

Otherwise thousands of sockets that accept connections and never speak would keep all permits taken, and a plugin that
works would wait for minutes. So a registration has HURRIED_SECONDS while others wait for a permit, and a socket whose
last registration took long and failed has to wait for one of a few permits of its own kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from supervision.actor import Actor

AT_ONCE: Final = 48
"""The most concurrent registrations, without those of slow sockets."""
SLOW_AT_ONCE: Final = 16
SLOW_SECONDS: Final = 1.5
"""A socket whose last registration took longer and failed is slow."""
HURRIED_SECONDS: Final = 2.0
"""The time of a registration while others wait for a permit."""
TOO_SLOW: Final = "it took too long, and other plugins wait for their turn"


class RegistrationPermits:
    """The permits of one actor."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._permits, self._slow_permits = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(SLOW_AT_ONCE)
        self._waiting = 0
        self._limits: dict[asyncio.Timeout, bool] = {}
        """The timeouts of the registrations that have a permit, and whether each hurries."""

    @property
    def slow_taken(self) -> bool:
        """Whether every permit of slow sockets is taken."""
        return self._slow_permits.locked()

    @asynccontextmanager
    async def permit(self, *, slow: bool) -> AsyncIterator[None]:
        """Wait for a permit, and hold it within the block. While others wait, a block that takes longer than
        HURRIED_SECONDS is cut short by TimeoutError; that of a slow socket never is."""
        if slow:
            async with self._slow_permits:
                yield
            return
        self._waiting += 1
        try:
            if self._permits.locked():
                self._hurry()
            await self._permits.acquire()
        finally:
            self._waiting -= 1
        try:
            async with asyncio.timeout(None) as limit:
                self._limits[limit] = False
                if self._waiting:
                    self._hurry()
                try:
                    yield
                finally:
                    del self._limits[limit]
        finally:
            self._permits.release()

    def _hurry(self) -> None:
        """Give those that have a permit HURRIED_SECONDS more."""
        for limit, hurries in self._limits.items():
            if not hurries:
                self._limits[limit] = True
                self._actor.after(HURRIED_SECONDS, partial(self._end, limit))

    def _end(self, limit: asyncio.Timeout) -> None:
        if limit in self._limits:
            limit.reschedule(asyncio.get_running_loop().time())
