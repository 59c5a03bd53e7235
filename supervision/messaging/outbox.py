"""The queue of messages for one receiver: first in, first out, bounded in number and bytes, coalescing, with a deadline
on each message. No I/O."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from ..message import Message

MAX_MESSAGES = 8192
MAX_BYTES = 128 * 1024 * 1024


@dataclass(slots=True, eq=False)
class QueuedMessage:
    """A queued message."""

    message: Message
    body: bytes
    """Encoded, as `wire.encode` makes it."""
    deadline: float
    """When it expires, in seconds of the queue's clock."""
    ask: int = 0
    key: Hashable | None = None
    """A newer message with the same key replaces this one; None: never."""


class Outbox:
    """Messages that wait to be sent.

    A newer state removes the older one with its key and goes to the end of the queue. So delivery keeps the order of
    sending, without some of the older states.
    """

    def __init__(self, max_messages: int = MAX_MESSAGES, max_bytes: int = MAX_BYTES) -> None:
        self._max_messages, self._max_bytes = max_messages, max_bytes
        self._entries: OrderedDict[QueuedMessage, None] = OrderedDict()
        self._by_key: dict[Hashable, QueuedMessage] = {}
        self._bytes = 0
        self.earliest = math.inf
        """A lower bound of all deadlines."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedMessage]:
        return iter(self._entries)

    def add(self, entry: QueuedMessage) -> bool:
        """Queue an entry. False if the queue is full. An empty queue takes a message of any size, and a replacement
        always fits."""
        older = self._by_key.get(entry.key) if entry.key is not None else None
        if older is not None:
            self._remove(older)
        full = len(self._entries) >= self._max_messages or self._bytes + len(entry.body) > self._max_bytes
        if self._entries and full and older is None:
            return False
        self._put(entry)
        return True

    def pop(self) -> QueuedMessage:
        """Remove and return the oldest. Raises KeyError when there is none."""
        entry, _ = self._entries.popitem(last=False)
        self._forget(entry)
        return entry

    def put_back(self, entries: Iterable[QueuedMessage]) -> None:
        """Put undelivered entries back before the rest, oldest first. Those that a newer state replaces are dropped."""
        for entry in reversed(list(entries)):
            if entry.key is None or entry.key not in self._by_key:
                self._put(entry)
                self._entries.move_to_end(entry, last=False)

    def expire(self, now: float) -> list[QueuedMessage]:
        """Remove and return the expired entries."""
        if now < self.earliest:
            return []
        late = [entry for entry in self._entries if entry.deadline <= now]
        for entry in late:
            self._remove(entry)
        self.earliest = min((entry.deadline for entry in self._entries), default=math.inf)
        return late

    def drain(self) -> list[QueuedMessage]:
        """Remove and return all entries."""
        entries = list(self._entries)
        self._entries.clear()
        self._by_key.clear()
        self._bytes, self.earliest = 0, math.inf
        return entries

    def _put(self, entry: QueuedMessage) -> None:
        self._entries[entry] = None
        self._bytes += len(entry.body)
        self.earliest = min(self.earliest, entry.deadline)
        if entry.key is not None:
            self._by_key[entry.key] = entry

    def _remove(self, entry: QueuedMessage) -> None:
        del self._entries[entry]
        self._forget(entry)

    def _forget(self, entry: QueuedMessage) -> None:
        self._bytes -= len(entry.body)
        if entry.key is not None:
            self._by_key.pop(entry.key, None)
