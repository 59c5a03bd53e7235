"""The watches of the pods API. Each has its own bounded queue, so that a slow client affects no other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

E = TypeVar("E")
MOST_WATCHES: Final = 64
MOST_EVENTS: Final = 100
"""The most changes that a client may be behind before it is dropped; as in the kubelet."""


class TooManyWatches(Exception):
    pass


class ClientWatch(Generic[E]):
    """A client."""

    def __init__(self) -> None:
        self._events: deque[E] = deque()
        self._changed = asyncio.Event()
        self._dropped = False

    def put(self, event: E) -> bool:
        """Queue a change. False: the client is too far behind; it gets the rest of its queue, then the watch ends."""
        if self._dropped or len(self._events) >= MOST_EVENTS:
            self._dropped = True
        else:
            self._events.append(event)
        self._changed.set()
        return not self._dropped

    async def next(self) -> E | None:
        """The next change; None: the client was dropped."""
        while not self._events and not self._dropped:
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft() if self._events else None


class Watches(Generic[E]):
    """The watches of all clients."""

    def __init__(self) -> None:
        self._watches: set[ClientWatch[E]] = set()

    def __len__(self) -> int:
        return len(self._watches)

    @contextmanager
    def open(self) -> Iterator[ClientWatch[E]]:
        """Raises TooManyWatches."""
        if len(self._watches) >= MOST_WATCHES:
            raise TooManyWatches
        watch = ClientWatch[E]()
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    def tell(self, event: E) -> int:
        """Put the change into every queue. Returns the number of clients that this drops."""
        behind = [watch for watch in self._watches if not watch.put(event)]
        self._watches.difference_update(behind)
        return len(behind)
