"""The queue of pulls: joins equal pulls and limits how many run at once.

An image that is present never comes here, so its container never waits for a pull.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from actors.shared.token_bucket import TokenBucket

Pull = Callable[[], Awaitable[str]]


class PullQueue:
    """First come, first served."""

    def __init__(self, limit: int | None, qps: int, burst: int) -> None:
        """`limit`: concurrent pulls (maxParallelImagePulls), None for no limit. `qps`: pulls started per second, 0 for
        no limit; `burst`: pulls after a pause. A pull over the rate waits; in the kubelet it fails."""
        self._slots = asyncio.Semaphore(limit) if limit else None
        self._rate = TokenBucket(qps, burst)
        self._tasks: dict[object, asyncio.Task[str]] = {}
        """By key; those that came first are first."""
        self._running: set[asyncio.Task[Any] | None] = set()
        self._waiting: Counter[object] = Counter()

    def __len__(self) -> int:
        """Pulls that run or wait."""
        return len(self._tasks)

    def before(self, key: object) -> int | None:
        """How many pulls come before that of the key; None: it runs, or there is none."""
        task = self._tasks.get(key)
        if task is None or task in self._running:
            return None
        return list(self._tasks).index(key)

    async def join(self, key: object, pull: Pull) -> str:
        """Wait for the pull of that key; start it if there is none. It is cancelled with the last that waits for it: it
        may hang for ever, and others may wait for its slot."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.get_running_loop().create_task(self._run(pull))
            task.add_done_callback(lambda done: self._end(key, done))
        self._waiting[key] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                if not task.done():
                    del self._tasks[key]  # the next that asks starts another
                    task.cancel()

    async def _run(self, pull: Pull) -> str:
        async with self._slots or contextlib.nullcontext():
            await asyncio.sleep(self._rate.reserve(asyncio.get_running_loop().time()))
            self._running.add(asyncio.current_task())
            return await pull()

    def _end(self, key: object, done: asyncio.Task[str]) -> None:
        self._running.discard(done)
        if self._tasks.get(key) is done:
            del self._tasks[key]
        if not done.cancelled():
            done.exception()  # retrieve the exception here, because no caller may be waiting
