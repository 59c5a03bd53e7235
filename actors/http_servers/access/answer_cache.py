"""A bounded cache of answers that expire. Callers that ask for the same at the same time share one question."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST: Final = 4096


class Cache(Generic[T]):
    """By key. Failures are not kept."""

    def __init__(self, seconds: Callable[[T], float], clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds`: how long an answer is kept."""
        self._seconds, self._clock = seconds, clock
        self._kept: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._asked: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """Raises what `ask` raises."""
        kept = self._kept.get(key)
        if kept is not None and self._clock() < kept[0]:
            return kept[1]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(self._ask(key, ask))
        # a caller that is cancelled does not cancel the others
        return await asyncio.shield(task)

    async def _ask(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            found = await ask()
        finally:
            del self._asked[key]
        self._kept.pop(key, None)
        self._kept[key] = (self._clock() + self._seconds(found), found)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return found
