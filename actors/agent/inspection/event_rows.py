"""Events in lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from actors.api_clients.event_client.messages import RecentEvent

from .pod_rows import whole_seconds

HEADER: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")

WIDE: Final = ("LAST SEEN", "FIRST SEEN", "COUNT", *HEADER[1:])


def row(event: RecentEvent, now: float) -> tuple[str, ...]:
    """The cells of HEADER. `now`: seconds since 1970."""
    place = f"{event.namespace}/{event.name}".lstrip("/")
    part = container_of(event.field)
    subject = f"{event.kind.lower()}/{place}" + (f" ({part})" if part else "")
    return (age_text(event, now), event.type, event.reason, subject, " ".join(event.message.split()))


def wide_row(event: RecentEvent, now: float) -> tuple[str, ...]:
    """The cells of WIDE."""
    seen = (whole_seconds(now - event.last), whole_seconds(now - event.first), str(event.count))
    return (*seen, *row(event, now)[1:])


def age_text(event: RecentEvent, now: float) -> str:
    """`4s`, or `4s (x3 over 2m)`."""
    last = whole_seconds(now - event.last)
    if event.count < 2:
        return last
    return f"{last} (x{event.count} over {whole_seconds(now - event.first)})"


def none_since(since: float, now: float) -> str:
    """The text if there are no events. `since`: when the event client started, seconds since 1970; 0: of a log."""
    if not since:
        return "no events in the log"
    return f"no events since event_client started {whole_seconds(now - since)} ago"


def document(event: RecentEvent) -> dict[str, Any]:
    """As a document; its times as in the API."""
    return {**msgspec.to_builtins(event), "first": _time(event.first), "last": _time(event.last)}


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def identity(event: RecentEvent) -> str:
    """Identifies an event: equal if the event is seen again."""
    parts = (event.kind, event.namespace, event.name, event.uid, event.field, event.type, event.reason, event.message)
    return "\0".join(parts)


def container_of(field: str) -> str:
    """The container in `spec.containers{name}`."""
    return field.partition("{")[2].rstrip("}")


def of_object(events: Iterable[RecentEvent], kind: str, namespace: str, name: str, uid: str = "") -> list[RecentEvent]:
    """The events of one object. `uid`, if known, excludes the events of an earlier pod with the same name."""
    return [
        event
        for event in events
        if (event.kind, event.namespace, event.name) == (kind, namespace, name)
        and (not uid or not event.uid or event.uid == uid)
    ]
