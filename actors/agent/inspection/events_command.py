"""`supervise events`: what happened to the pods and the node."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, GetRecentEvents, RecentEvent, RecentEvents
from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, OK, CommandError, Context
from supervision.cli.document import WIDE
from supervision.cli.text import for_terminal, table_with_texts, terminal_columns
from supervision.documents.suggestions import did_you_mean

from . import event_rows
from .event_log import events_in_log
from .node_pods import full_name
from .node_view import SILENT, view
from .printing import print_documents, print_lines, print_objects, warn, watch

_SAME_SECONDS: Final = 0.1
"""An event has the time of its line in the log, or one at most this much earlier or later."""
_NODES: Final = ("node", "nodes", "no")
"""What kubectl calls a node, as in `--for node/n1`."""


def events(context: Context) -> int:
    """Show the events once, or follow new ones."""
    shown = _Shown()
    if context.arguments.watch:
        watch(lambda: _show_events(context, shown))
    return _show_events(context, shown)


class _Shown:
    """What `supervise events` has printed: the count of each event by its identity, and the widths of columns."""

    def __init__(self) -> None:
        self.tries = 0
        """How often the agent was asked."""
        self.counts: dict[str, int] = {}
        self.logged_until = -math.inf
        """Events up to then, in seconds since 1970, were shown from the log."""
        self.widths: list[int] = []


def _recent(context: Context, shown: _Shown) -> tuple[RecentEvents, int]:
    """The events, and the exit code. If the agent or its event client does not answer, the first call reads the log.
    Raises CommandError."""
    tree, found, error = None, None, None
    try:
        tree = context.tree()
        answers = Answers(context, tree)
        found = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents)
        if found is not None:
            return found, OK
        error = CommandError(NO_ANSWER, "; ".join(answers.problems))
    except CommandError as silence:
        error = silence
    if shown.tries > 1 or error.code not in SILENT:
        raise error
    logged = events_in_log(context, tree, error)
    warn(str(error))
    warn(f"what follows is what its log says, {logged.log}")
    shown.logged_until = max((event.last for event in logged.events.events), default=0.0) + _SAME_SECONDS
    return RecentEvents(logged.events.events, 0.0), error.code


def _show_events(context: Context, shown: _Shown) -> int:
    """Print the events that are not in `shown`, and add them to it; the exit code. The first call says so if there are
    none."""
    arguments = context.arguments
    shown.tries += 1
    first = shown.tries == 1
    until = shown.logged_until
    found, code = _recent(context, shown)
    mine = [event for event in _of_pod(found.events, context) if event.last > until]
    fresh = [event for event in mine if shown.counts.get(event_rows.identity(event)) != event.count]
    now, wide = time.time(), arguments.output == WIDE
    if context.form:
        if arguments.watch:
            print_documents(context, [event_rows.document(event) for event in fresh])
        else:
            print_objects(context, [event_rows.document(event) for event in mine])
    elif fresh:
        rows = [(event_rows.wide_row if wide else event_rows.row)(event, now) for event in fresh]
        header = event_rows.WIDE if wide else event_rows.HEADER
        text = table_with_texts(header, rows, terminal_columns(sys.stdout), shown.widths)
        print_lines(*(line for lines in (text[1:] if shown.counts or arguments.no_headers else text) for line in lines))
    elif first and arguments.watch:
        warn(f"{_no_events_text(arguments, found, now)}; waiting for one")
    elif first:
        print_lines(*for_terminal(_no_events_text(arguments, found, now), sys.stdout).split("\n"))
    shown.counts.update((event_rows.identity(event), event.count) for event in fresh)
    return code


def _of_pod(seen: Sequence[RecentEvent], context: Context) -> list[RecentEvent]:
    """The wanted events. Raises CommandError if there is no such pod, unless --watch waits for it."""
    arguments = context.arguments
    if arguments.types:
        seen = [event for event in seen if event.type in arguments.types]
    wanted = _wanted_pod(arguments)
    mine = [event for event in seen if _is_wanted(event, wanted, arguments.namespace)]
    if not mine and wanted in _NODES:
        return [event for event in seen if event.kind == "Node"]
    if mine or not wanted or wanted.partition("/")[0] in _NODES:
        return mine
    try:
        pod = view(context).pod(wanted, arguments.namespace)
    except CommandError:
        if arguments.watch:
            return []
        raise
    return [event for event in seen if _is_wanted(event, full_name(pod), "")]


def _wanted_pod(arguments: argparse.Namespace) -> str:
    return str(arguments.pod or arguments.of)


def _no_events_text(arguments: argparse.Namespace, seen: RecentEvents, now: float) -> str:
    """The text if there are no events of the pod, namespace or types, but others exist."""
    if not seen.events:
        return event_rows.none_since(seen.since, now)
    pod = _wanted_pod(arguments)
    hint = did_you_mean(pod, sorted({event.name for event in seen.events if event.kind == "Pod"}))
    if pod.partition("/")[0] in _NODES:
        hint = "; an agent knows those of its own node only"
    wanted = f"of {pod}" if pod else "of that namespace" if arguments.namespace else ""
    return " ".join(filter(None, ("no", *arguments.types, "events", wanted))) + f"{hint}: `supervise events` shows all"


def _is_wanted(event: RecentEvent, pod: str, namespace: str) -> bool:
    space, _, name = pod.rpartition("/")
    if space in _NODES:
        return (event.kind, event.name) == ("Node", name)
    if (space or namespace) not in ("", event.namespace):
        return False
    return not name or (event.kind, event.name) == ("Pod", name)
