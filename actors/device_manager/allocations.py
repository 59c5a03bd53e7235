"""Allocations under way: one for a container at a time. One that takes long ends when its pod is released."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.pod_locks import PodLocks

from .choice import Unavailable

RELEASED = "the pod was released meanwhile"


class Allocations:
    """Tasks by pod. A question that is asked again waits for the first, and then finds what that has got."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[ContainerAllocation]]] = {}
        self._containers = PodLocks()

    async def run(
        self, uid: str, container: str, work: Callable[[], Coroutine[Any, Any, ContainerAllocation]]
    ) -> ContainerAllocation:
        """Raises Unavailable, also when the pod is released meanwhile."""
        task = asyncio.ensure_future(self._in_turn(f"{uid}/{container}", work))
        self._tasks.setdefault(uid, set()).add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks[uid].discard(task)
            if not self._tasks[uid]:
                del self._tasks[uid]
        if task.cancelled():
            raise Unavailable(RELEASED)
        return task.result()

    async def _in_turn(
        self, container: str, work: Callable[[], Coroutine[Any, Any, ContainerAllocation]]
    ) -> ContainerAllocation:
        async with self._containers.hold(container):
            return await work()

    def cancel(self, uid: str) -> None:
        for task in self._tasks.get(uid, ()):
            task.cancel()
