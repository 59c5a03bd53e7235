"""An event as a line of the log, from which `supervise events` reads it when no agent runs. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

from actors.api_clients.event_client.messages import RecentEvent, RecordEvent

_TEXT: Final = re.compile(r'event (\S+) (\S+) (\S+): "(.*)" (\S*?)(?: \(x(\d+)\))?', re.DOTALL)


def log_text(event: RecentEvent) -> str:
    """With its count, if there were more than one."""
    subject = f"{event.namespace}/{event.name}".lstrip("/")
    count = f" (x{event.count})" if event.count > 1 else ""
    return f'event {event.kind} {subject} {event.reason}: "{event.message}" {event.field}{count}'


def read(text: str, type: Literal["Normal", "Warning"]) -> tuple[RecordEvent, int] | None:
    """The event in the text, without its UID, and its count; None: it is another text."""
    parts = _TEXT.fullmatch(text)
    if parts is None:
        return None
    kind, subject, reason, message, field, count = parts.groups()
    namespace, _, name = subject.rpartition("/")
    event = RecordEvent(
        kind=kind, namespace=namespace, name=name, type=type, reason=reason, message=message, field=field
    )
    return event, int(count or 1)
