"""A bounded cache of answers that expire. Concurrent callers with the same key share one request."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
MAX_ANSWERS: Final = 4096


class AnswerCache(Generic[T]):
    """Answers by key. Failures are not cached."""

    def __init__(self, seconds: Callable[[T], float], clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds`: how long an answer is cached."""
        self._seconds, self._clock = seconds, clock
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._pending: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The cached answer, or else the answer of `ask`, with its exceptions."""
        cached = self._answers.get(key)
        if cached is not None and self._clock() < cached[0]:
            return cached[1]
        task = self._pending.get(key)
        if task is None:
            task = self._pending[key] = asyncio.ensure_future(self._ask(key, ask))
        # a caller that is cancelled does not cancel the others
        return await asyncio.shield(task)

    async def _ask(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            found = await ask()
        finally:
            del self._pending[key]
        self._answers.pop(key, None)
        self._answers[key] = (self._clock() + self._seconds(found), found)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return found
