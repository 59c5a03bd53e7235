"""The events that occur once in the life of a container. Pure.

If a worker dies while it stops a container, the next worker stops it again and reports the same event again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from actors.api_clients.event_client.messages import RecordEvent

LIMIT: Final = 2000
"""Different events that are known: more than a node's containers that end at the same time."""


class InstanceEvents:
    """The newest LIMIT different events with an instance."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._emitted: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._limit = limit

    def is_new(self, event: RecordEvent) -> bool:
        """Whether the event is new. Every event without an instance is."""
        if not event.instance:
            return True
        key = (event.instance, event.reason)
        if key in self._emitted:
            return False
        self._emitted[key] = None
        if len(self._emitted) > self._limit:
            self._emitted.popitem(last=False)
        return True
