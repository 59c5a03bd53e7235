"""The events of this node as its agent has logged them: while no agent runs, or the event client does not answer."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from actors.api_clients.event_client import event_text
from actors.api_clients.event_client.event_history import EventHistory
from actors.api_clients.event_client.messages import EVENT_CLIENT, RecentEvents, RecordEvent
from supervision.cli.command import CommandError, Context
from supervision.cli.log_sources import journal_unit, of_journal
from supervision.cli.log_times import time_of
from supervision.cli.logs import file_of
from supervision.errors import UNREADABLE
from supervision.logs import actor_of
from supervision.protocol import Tree

_MOST_BYTES: Final = 32 << 20
"""How much of the end of the log is read: it may have gigabytes."""
_TEXT: Final = re.compile(r'[IWEF]\d{4} [^\]]*\] ("(?:[^"\\]|\\.)*")')
"""klog's header and the quoted message."""


class _Line(msgspec.Struct):
    """What is read of a line in JSON."""

    msg: str = ""
    severity: str = ""


_LINE: Final = msgspec.json.Decoder(_Line)
_QUOTED: Final = msgspec.json.Decoder(str)


class EventsInLog(NamedTuple):
    """The events of a log."""

    events: RecentEvents
    log: str
    """The file or the journal."""


def events_in_log(context: Context, tree: Tree | None, error: CommandError) -> EventsInLog:
    """The events in the log of the agent. `tree`: of the running one. `error`: why it, or its event client, was not
    asked; raised if no log is known or it cannot be read."""
    now = time.time()
    if tree is None:
        last = context.files.last_start()
        file = "" if last is None else last.log_file
    else:
        file = file_of(tree)
    try:
        if file:
            return EventsInLog(events_of(_end_of(Path(file)), now), file)
        if tree is not None and (unit := journal_unit(tree.pid)):
            with of_journal(unit, follow=False, since=0.0) as (lines, _):
                return EventsInLog(events_of(lines, now), f"the journal of {unit}")
    except OSError:
        raise error from None
    raise error


def events_of(lines: Iterable[str], now: float) -> RecentEvents:
    """The events in these lines of a log, in either format. `now`: seconds since 1970. Pure."""
    history = EventHistory()
    since = now
    for line in lines:
        if actor_of(line) != EVENT_CLIENT or (when := time_of(line, now)) is None:
            continue
        since = min(since, when)
        if (found := _event(line)) is not None:
            event, count = found
            history.add(event, when, count)
    return RecentEvents(history.all(), since)


def _event(line: str) -> tuple[RecordEvent, int] | None:
    try:
        if line.startswith("{"):
            found = _LINE.decode(line)
            text, is_warning = found.msg, found.severity == "warning"
        elif quoted := _TEXT.match(line):
            text, is_warning = _QUOTED.decode(quoted[1]), line.startswith("W")
        else:
            return None
    except UNREADABLE:
        return None
    return event_text.read(text, "Warning" if is_warning else "Normal")


def _end_of(path: Path) -> Iterator[str]:
    """The last lines of the file. Raises OSError."""
    with path.open("rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - _MOST_BYTES)
        file.seek(start)
        if start:
            file.readline()  # the rest of one
        for line in file:
            yield line.decode(errors="replace").rstrip("\n")
