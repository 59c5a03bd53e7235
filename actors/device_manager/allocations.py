"""Allocations under way, by pod. They are cancelled when the pod is released. A container has one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

from actors.shared.keyed_locks import KeyedLocks
from supervision.time_scale import scaled

from .choice import DevicesUnavailable

T = TypeVar("T")
RELEASED = "the pod was released meanwhile"
EARLIER_UNANSWERED = "a plugin has not answered an earlier question about the container"
LOCK_SECONDS: Final = 90.0
"""Longer than callers wait for the answer, so that repeated questions do not pile up behind a plugin that never
answers."""


class Allocations:
    """Tasks by pod. A question that is asked again waits for the first, and then finds what that has got."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}
        self._containers = KeyedLocks()

    async def serialized(self, uid: str, container: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Work after earlier work for this container. Raises DevicesUnavailable, also when the pod is released
        meanwhile.
        """

        async def locked() -> T:
            async with AsyncExitStack() as locks:
                try:
                    async with asyncio.timeout(scaled(LOCK_SECONDS)):
                        await locks.enter_async_context(self._containers.hold(f"{uid}/{container}"))
                except TimeoutError:
                    raise DevicesUnavailable(EARLIER_UNANSWERED) from None
                return await work()

        return await self.at_once(uid, locked)

    async def at_once(self, uid: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Raises DevicesUnavailable when the pod is released meanwhile."""
        task = asyncio.ensure_future(work())
        self._tasks.setdefault(uid, set()).add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks[uid].discard(task)
            if not self._tasks[uid]:
                del self._tasks[uid]
        if task.cancelled():
            raise DevicesUnavailable(RELEASED)
        return task.result()

    def cancel(self, uid: str) -> None:
        for task in self._tasks.get(uid, ()):
            task.cancel()
