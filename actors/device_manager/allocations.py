"""Allocations under way: one that takes long ends when its pod is released."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from actors.shared.hardware.allocation import ContainerAllocation

from .choice import Unavailable

RELEASED = "the pod was released meanwhile"


class Allocations:
    """By pod."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[ContainerAllocation]]] = {}

    async def run(self, uid: str, work: Coroutine[Any, Any, ContainerAllocation]) -> ContainerAllocation:
        """Raises Unavailable, also when the pod is released meanwhile."""
        task = asyncio.ensure_future(work)
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

    def cancel(self, uid: str) -> None:
        for task in self._tasks.get(uid, ()):
            task.cancel()
