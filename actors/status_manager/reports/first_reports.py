"""Holds questions about pods while a new incarnation does not know them yet.

After a restart of the status manager the workers report their pods again. An answer before that would deny pods which
run: `kubectl logs` would fail with "not found", and the list of pods would be empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from supervision.actor import Actor
from supervision.message import Message
from supervision.time_scale import scaled

WAIT_SECONDS: Final = 2.0
"""Seconds from the start after which questions are answered with what is known: a worker may be down, or its sources
may not be ready."""
M = TypeVar("M", bound=Message)


class FirstReports:
    def __init__(self, actor: Actor) -> None:
        self._over = asyncio.Event()
        actor.after(scaled(WAIT_SECONDS), self._over.set)

    def complete(self) -> None:
        """Every worker has reported its pods."""
        self._over.set()

    def answer(self, make: Callable[[], M]) -> M | Awaitable[M]:
        """What `make` returns: now, or as soon as the pods are known."""
        return make() if self._over.is_set() else self._answer_later(make)

    async def _answer_later(self, make: Callable[[], M]) -> M:
        await self._over.wait()
        return make()
