"""The last events of this node, for `supervise events`: in memory, bounded, the same event again counted. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from actors.api_clients.event_client.messages import RecentEvent, RecordEvent

LIMIT: Final = 500
"""Different events that are kept: some 200 KiB."""


class EventHistory:
    """The newest LIMIT different events."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._events: OrderedDict[tuple[str, ...], RecentEvent] = OrderedDict()
        self._limit = limit

    def add(self, event: RecordEvent, now: float, count: int = 1) -> RecentEvent:
        """Count the event once more, at least to `count`. `now`: seconds since 1970."""
        seen = self._events.pop(event.identity, None)
        if seen is None:
            seen = RecentEvent(
                kind=event.kind,
                namespace=event.namespace,
                name=event.name,
                uid=event.uid,
                field=event.field,
                type=event.type,
                reason=event.reason,
                message=event.message,
                count=0,
                first=now,
                last=now,
            )
        added = msgspec.structs.replace(seen, count=max(seen.count + (count == 1), count), last=now)
        self._events[event.identity] = added
        while len(self._events) > self._limit:
            self._events.popitem(last=False)
        return added

    def all(self) -> list[RecentEvent]:
        """Oldest first, by when they were last seen."""
        return list(self._events.values())
