"""Writes events to the API server, and to the log: of one that comes again, the second, the fourth, the eighth, ...

No sender waits: events queue here, correlated, also while the server is away. What the server refuses (no permission,
a namespace that is being deleted) is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from actors.api_clients.api_actor import ApiActor, client_limits
from actors.api_clients.event_client.messages import (
    EventTaken,
    GetRecentEvents,
    RecentEvents,
    RecordEvent,
    TakeEvent,
)
from actors.shared.api.errors import (
    AlreadyExists,
    ApiError,
    NoCredentials,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from supervision.actor import Address, on

from .backlog import EventBacklog
from .correlation import CorrelatedEvent, Correlator
from .event_history import EventHistory
from .event_object import PATCH_TYPE, count_patch, event_object, namespace_of
from .event_text import log_text
from .instance_events import InstanceEvents

PAUSE_SECONDS: Final = 10.0
"""Seconds between tries while the server is away; the first pause is shortened at random, so that nodes do not return
together."""
TRIES: Final = 12
"""Tries of one event that the server answers with an internal error: the event may be the cause."""
RETRIABLE: Final = (Unreachable, NoCredentials, Unauthorized, TooManyRequests, ServerError)
"""Errors after which an event is tried again."""


class EventClient(ApiActor):
    """Counts, correlates, and writes one at a time."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
        rng: Callable[[], float] = random.random,
    ) -> None:
        super().__init__()
        self._clock, self._wall_ns, self._rng = clock, wall_ns, rng
        self._correlator, self._backlog = Correlator(), EventBacklog()
        self._history, self._started_at = EventHistory(), wall_ns() / 1e9
        self._instances = InstanceEvents()
        self._more_events = asyncio.Event()

    def limits(self) -> dict[str, Any]:
        return client_limits(self.agent.config.eventRecordQPS, self.agent.config.eventBurst)

    async def on_joining(self) -> None:
        self.start_task(self._write_all(), "events")

    @on(RecordEvent)
    def on_event(self, message: RecordEvent, sender: Address) -> None:
        if not self._instances.is_new(message):
            return
        self.metrics.count("troupelet_events_total", type=message.type, reason=message.reason)
        counted = self._history.add(message, self._wall_ns() / 1e9)
        if counted.count.bit_count() == 1:
            # a probe that fails each second would fill the log with its event
            self.log.log(logging.WARNING if message.type == "Warning" else logging.INFO, "%s", log_text(counted))
        if not self.agent.standalone:
            self._queue(message)

    @on(TakeEvent)
    def on_take(self, message: TakeEvent, sender: Address) -> EventTaken:
        self.on_event(message.event, sender)
        return EventTaken()

    @on(GetRecentEvents)
    def on_get_recent_events(self, message: GetRecentEvents, sender: Address) -> RecentEvents:
        return RecentEvents(self._history.all(), self._started_at)

    def _queue(self, message: RecordEvent) -> None:
        event = self._correlator.correlate(message, self._clock(), self._wall_ns())
        if event is None:
            self._count_dropped("spam")
            return
        if self._backlog.put(event) is not None:
            self._count_dropped("backlog")
        self._more_events.set()

    # -- writing ------------------------------------------------------------------------------------------------------
    async def _write_all(self) -> None:
        failures = errors = 0
        while True:
            event = self._backlog.first()
            if event is None:
                self._more_events.clear()
                await self._more_events.wait()
                continue
            try:
                await self._write(event)
                failures = errors = 0
            except RETRIABLE as error:
                errors += isinstance(error, ServerError)
                if errors >= TRIES:
                    self._drop_refused(event, error)
                    errors = 0
                    continue
                pause = PAUSE_SECONDS * (self._rng() if failures == 0 else 1.0)
                failures += 1
                await self.pause(max(pause, error.retry_after))
            except ApiError as error:
                self._drop_refused(event, error)

    async def _write(self, event: CorrelatedEvent) -> None:
        """Raises ApiError."""
        collection = f"/api/v1/namespaces/{namespace_of(event.content)}/events"
        if self._backlog.stored_before(event):
            try:
                await self._patch(f"{collection}/{event.event_name}", event)
                return
            except NotFound:
                self._backlog.vanished(event)  # events end after an hour
        body = msgspec.json.encode(event_object(event, self.agent.node_name))
        try:
            await self.request("POST", collection, body=body)
        except AlreadyExists:
            pass  # written before, by a try whose answer was lost
        self._backlog.stored(event)

    async def _patch(self, path: str, event: CorrelatedEvent) -> None:
        await self.request("PATCH", path, body=msgspec.json.encode(count_patch(event)), content_type=PATCH_TYPE)
        self._backlog.stored(event)

    def _drop_refused(self, event: CorrelatedEvent, error: ApiError) -> None:
        self._backlog.lost(event)
        self._correlator.forget(event.key)
        self._count_dropped("refused")
        content = event.content
        self.log.info(
            "the API server does not take event %s of %s/%s: %s",
            content.reason,
            content.namespace,
            content.name,
            error,
        )

    def _count_dropped(self, why: str) -> None:
        self.metrics.count("troupelet_events_dropped_total", why=why)
