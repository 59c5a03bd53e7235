"""Pulls under way: identical ones joined, at most so many at once.

An image that is on the node never comes here, so it never waits behind a pull.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from actors.shared.token_bucket import TokenBucket

Pull = Callable[[], Awaitable[str]]


class Pulls:
    """Joins callers that want the same pull, and keeps a queue for the others: first come, first served."""

    def __init__(self, limit: int | None, qps: int, burst: int) -> None:
        """`limit`: pulls at once; None for any number (API doc, maxParallelImagePulls). `qps` pulls begin in a second,
        or `burst` after a pause; 0 for any number. What is over that waits for its turn; the kubelet has it fail."""
        self._slots = asyncio.Semaphore(limit) if limit else None
        self._rate = TokenBucket(qps, burst)
        self._going: dict[object, asyncio.Task[str]] = {}

    @property
    def going(self) -> int:
        """Pulls that run or wait."""
        return len(self._going)

    def join(self, key: object, pull: Pull) -> asyncio.Task[str]:
        """The pull of that key, begun if nobody has. It goes on when a caller stops waiting for it."""
        task = self._going.get(key)
        if task is None:
            task = self._going[key] = asyncio.get_running_loop().create_task(self._run(pull))
            task.add_done_callback(lambda done: self._forget(key, done))
        return task

    async def _run(self, pull: Pull) -> str:
        async with self._slots or contextlib.nullcontext():
            await asyncio.sleep(self._rate.reserve(asyncio.get_running_loop().time()))
            return await pull()

    def _forget(self, key: object, done: asyncio.Task[str]) -> None:
        self._going.pop(key, None)
        if not done.cancelled():
            done.exception()  # seen: nobody may be waiting any more
