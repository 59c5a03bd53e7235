"""Events that the API server does not have yet: bounded, the oldest are dropped first. Pure.

Of events that differ only in their count the newest waits: an hour without a server costs one entry for each kind of
event.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from .correlation import CorrelatedEvent, Key, RecentEntries

LIMIT: Final = 1000


class EventBacklog:
    """First in, first out."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._waiting: OrderedDict[Key, CorrelatedEvent] = OrderedDict()
        self._stored: RecentEntries[bool] = RecentEntries()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: CorrelatedEvent) -> CorrelatedEvent | None:
        """Add the event. Returns the event that was dropped for it, if the backlog was full."""
        self._waiting[event.key] = event
        return self._waiting.popitem(last=False)[1] if len(self._waiting) > self._limit else None

    def first(self) -> CorrelatedEvent | None:
        return next(iter(self._waiting.values()), None)

    def stored_before(self, event: CorrelatedEvent) -> bool:
        """Whether the server has the event with a smaller count."""
        return self._stored.get(event.key) is not None

    def stored(self, event: CorrelatedEvent) -> None:
        """The server has the event now."""
        self._stored.put(event.key, True)
        self._remove(event)

    def lost(self, event: CorrelatedEvent) -> None:
        """The server refused it: the next such event is a new one."""
        self._stored.drop(event.key)
        self._remove(event)

    def vanished(self, event: CorrelatedEvent) -> None:
        """The server no longer has it; create it again."""
        self._stored.drop(event.key)

    def _remove(self, event: CorrelatedEvent) -> None:
        if self._waiting.get(event.key) is event:  # its count may have changed meanwhile
            del self._waiting[event.key]
