"""Sends lists that are too large for one message in parts.

Each part adds or changes objects. The last one also names all objects that it does not contain, so that the receiver
removes those that are in neither, and keeps no list of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Final, Protocol

from supervision.addresses import ActorName
from supervision.message import Message

PART_BYTES: Final = 8 << 20
"""The most bytes of the objects in one part; a single object may be larger."""
PAUSE_SECONDS: Final = 0.25
"""The pause after each part: the queue in the sender's memory stays short if the receiver handles 32 MiB/s."""


class MakePart(Protocol):
    def __call__(self, keys: list[str], *, more: bool) -> Message:
        """The message with the present state of these objects, without those that are gone. `more`: another part
        follows; the last part names all other objects that exist now, also those added since the first part."""


class ListSender(Protocol):
    """The methods of an actor that are used here."""

    def tell(self, name: ActorName, message: Message) -> None: ...
    async def pause(self, seconds: float) -> None: ...
    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]: ...


class ListsInParts:
    """The lists that one actor sends, at most one to each receiver at a time."""

    def __init__(self, actor: ListSender) -> None:
        self._actor = actor
        self._tasks: dict[ActorName, asyncio.Task[None]] = {}

    def send(self, name: ActorName, sizes: Mapping[str, int], make: MakePart) -> None:
        """Send the objects with these keys and sizes in bytes. A list that is still being sent to `name` is broken
        off."""
        older = self._tasks.pop(name, None)
        if older is not None:
            older.cancel()
        parts = parts_of(sizes)
        if len(parts) == 1:
            self._actor.tell(name, make(parts[0], more=False))
            return
        task = self._tasks[name] = self._actor.start_task(self._send(name, parts, make), f"list for {name}")
        task.add_done_callback(partial(self._ended, name))

    def _ended(self, name: ActorName, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]

    async def _send(self, name: ActorName, parts: list[list[str]], make: MakePart) -> None:
        for keys in parts[:-1]:
            self._actor.tell(name, make(keys, more=True))
            await self._actor.pause(PAUSE_SECONDS)
        self._actor.tell(name, make(parts[-1], more=False))


def parts_of(sizes: Mapping[str, int]) -> list[list[str]]:
    """The keys, in their order, in lists of at most PART_BYTES or one object; at least one list, which may be empty."""
    parts, room = [list[str]()], PART_BYTES
    for key, size in sizes.items():
        if parts[-1] and size > room:
            parts.append([])
            room = PART_BYTES
        parts[-1].append(key)
        room -= size
    return parts
