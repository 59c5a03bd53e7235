"""A bounded cache of answers that expire. Concurrent callers with the same key share one request; it is cancelled when
none of them still waits."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
MAX_ANSWERS: Final = 4096


class _Request(Generic[T]):
    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task, self.waiting = task, 0


class AnswerCache(Generic[T]):
    """Answers by key. Failures are not cached."""

    def __init__(self, seconds: Callable[[T], float], clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds`: how long an answer is cached."""
        self._seconds, self._clock = seconds, clock
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._pending: dict[Hashable, _Request[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The cached answer, else the answer of `ask`. Raises what `ask` raises."""
        cached = self._answers.get(key)
        if cached is not None and self._clock() < cached[0]:
            return cached[1]
        request = self._pending.get(key)
        if request is None:
            request = self._pending[key] = _Request(asyncio.ensure_future(self._ask(key, ask)))
        request.waiting += 1
        try:
            # a caller that is cancelled does not cancel the others
            return await asyncio.shield(request.task)
        finally:
            request.waiting -= 1
            if not request.waiting:
                request.task.cancel()
                if self._pending.get(key) is request:
                    del self._pending[key]

    async def _ask(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        found = await ask()
        self._answers.pop(key, None)
        self._answers[key] = (self._clock() + self._seconds(found), found)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return found
