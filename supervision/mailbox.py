"""The queue of messages for one receiver: bounded in number and bytes, coalescing, with a deadline on each. No I/O."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from .message import Message

MAX_MESSAGES = 8192
MAX_BYTES = 128 * 1024 * 1024


@dataclass(slots=True, eq=False)
class Entry:
    """A message on its way."""

    message: Message
    body: bytes
    """Encoded, as `wire.encode` makes it."""
    deadline: float
    """When it is of no use any more, in seconds of the clock that the queue is asked with."""
    ask: int = 0
    key: Hashable | None = None
    number: int = 0
    """Of its link, in the order of sending."""


class Outbox:
    """Messages that wait to be sent. A newer one with the same key takes the place of the older, where that stood."""

    def __init__(self, max_messages: int = MAX_MESSAGES, max_bytes: int = MAX_BYTES) -> None:
        self._max_messages, self._max_bytes = max_messages, max_bytes
        self._entries: deque[Entry] = deque()
        self._by_key: dict[Hashable, Entry] = {}
        self._bytes = 0
        self.earliest = math.inf
        """No entry's deadline is before this."""
        self.ordered = 0
        """So many of them keep their order."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._by_key

    def add(self, entry: Entry) -> bool:
        """False when it is full. One message is always taken, however large."""
        if entry.key is not None and (older := self._by_key.get(entry.key)) is not None:
            self._bytes += len(entry.body) - len(older.body)
            older.message, older.body, older.deadline = entry.message, entry.body, entry.deadline
            self.earliest = min(self.earliest, entry.deadline)
            return True
        full = len(self._entries) >= self._max_messages or self._bytes + len(entry.body) > self._max_bytes
        if self._entries and full:
            return False
        self._put(entry)
        self._entries.append(entry)
        return True

    @property
    def first(self) -> Entry:
        """The oldest. Raises IndexError when there is none."""
        return self._entries[0]

    def pop(self) -> Entry:
        """Take out the oldest. Raises IndexError when there is none."""
        entry = self._entries.popleft()
        self._forget(entry)
        return entry

    def put_back(self, entries: Iterable[Entry]) -> None:
        """Those that were taken but did not arrive, oldest first: they go before the rest, unless a newer one waits."""
        for entry in reversed(list(entries)):
            if entry.key is None or entry.key not in self._by_key:
                self._put(entry)
                self._entries.appendleft(entry)

    def expire(self, now: float) -> list[Entry]:
        """Take out those whose deadline has passed."""
        if now < self.earliest:
            return []
        late = [entry for entry in self._entries if entry.deadline <= now]
        if late:
            self._entries = deque(entry for entry in self._entries if entry.deadline > now)
            for entry in late:
                self._forget(entry)
        self.earliest = min((entry.deadline for entry in self._entries), default=math.inf)
        return late

    def drain(self) -> list[Entry]:
        """Take out all."""
        entries = list(self._entries)
        self._entries.clear()
        self._by_key.clear()
        self._bytes, self.earliest, self.ordered = 0, math.inf, 0
        return entries

    def _put(self, entry: Entry) -> None:
        self._bytes += len(entry.body)
        self.earliest = min(self.earliest, entry.deadline)
        self.ordered += entry.message.ordered
        if entry.key is not None:
            self._by_key[entry.key] = entry

    def _forget(self, entry: Entry) -> None:
        self._bytes -= len(entry.body)
        self.ordered -= entry.message.ordered
        if entry.key is not None:
            self._by_key.pop(entry.key, None)
