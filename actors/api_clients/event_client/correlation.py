"""Keeps events from flooding the API server, as client-go's EventCorrelator does. Pure: times are passed in.

The same event again is one event with a count. More than ten of one kind that differ in their message alone, within ten
minutes of each other, become one, "(combined from similar events)". An object has a burst of 25 normal events and
one of 25 warnings, and then one of each in five minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec

from actors.api_clients.event_client.messages import RecordEvent
from actors.shared.token_bucket import TokenBucket

CACHE: Final = 4096
MOST_SIMILAR: Final = 10
SIMILAR_SECONDS: Final = 600.0
SPAM_BURST: Final = 25
SPAM_SECONDS: Final = 300.0
"""Seconds for one more event of an object and type, once the burst is used up."""
COMBINED: Final = "(combined from similar events): "

V = TypeVar("V")
Key = Hashable


class CorrelatedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The write: a new Event of this name, or a new count of the existing one."""

    key: Key
    content: RecordEvent
    event_name: str
    count: int
    first: float
    last: float
    """Seconds since 1970."""


class _Similar(msgspec.Struct):
    messages: set[str]
    last: float


class _Log(msgspec.Struct):
    name: str
    count: int
    first: float


class RecentEntries(Generic[V]):
    """The latest CACHE entries."""

    def __init__(self, size: int = CACHE) -> None:
        self._entries: OrderedDict[Key, V] = OrderedDict()
        self._size = size

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> V | None:
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def drop(self, key: Key) -> None:
        self._entries.pop(key, None)


class Correlator:
    """Remembers the last events of this node, to correlate new ones."""

    def __init__(self) -> None:
        self._similar: RecentEntries[_Similar] = RecentEntries()
        self._logs: RecentEntries[_Log] = RecentEntries()
        self._buckets: RecentEntries[TokenBucket] = RecentEntries()

    def correlate(self, content: RecordEvent, clock: float, now_ns: int) -> CorrelatedEvent | None:
        """The write for this event; None for nothing. `clock` is monotonic, `now_ns` since 1970."""
        combined = self._combine(content, clock)
        key: Key = ("group", content.group) if combined else content.identity
        if combined:
            content = msgspec.structs.replace(content, message=COMBINED + content.message)
        seen = self._count(key, content, now_ns)
        if not self._take_token(content, clock):
            return None
        return CorrelatedEvent(
            key=key,
            content=content,
            event_name=seen.name,
            count=seen.count,
            first=seen.first,
            last=now_ns / 1e9,
        )

    def forget(self, key: Key) -> None:
        """The server does not have it: the next one counts from one."""
        self._logs.drop(key)

    def _combine(self, content: RecordEvent, clock: float) -> bool:
        """Whether too many differ from this one in their message alone."""
        found = self._similar.get(content.group)
        if found is None or clock - found.last > SIMILAR_SECONDS:
            found = _Similar(set(), clock)
        found.messages.add(content.message)
        found.last = clock
        self._similar.put(content.group, found)
        if len(found.messages) < MOST_SIMILAR:
            return False
        found.messages.pop()
        return True

    def _count(self, key: Key, content: RecordEvent, now_ns: int) -> _Log:
        seen = self._logs.get(key)
        if seen is None:
            seen = _Log(event_name(content.name, now_ns), 0, now_ns / 1e9)
        seen.count += 1
        self._logs.put(key, seen)
        return seen

    def _take_token(self, content: RecordEvent, clock: float) -> bool:
        bucket = self._buckets.get(content.subject)
        if bucket is None:
            bucket = TokenBucket(1 / SPAM_SECONDS, SPAM_BURST)
            self._buckets.put(content.subject, bucket)
        return bucket.take(clock)


def event_name(name: str, now_ns: int) -> str:
    """A name unique for this node: the object's name, cut if necessary, and the time."""
    stamp = f"{now_ns:x}"
    return f"{name[: 252 - len(stamp)].rstrip('.-')}.{stamp}"
