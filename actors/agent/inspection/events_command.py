"""`supervise events`: what happened to the pods and the node."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from actors.api_clients.messages import EVENT_CLIENT, GetRecentEvents, RecentEvent, RecentEvents
from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, OK, CommandError, Context
from supervision.cli.document import WIDE
from supervision.cli.text import table_with_texts, terminal_columns
from supervision.suggestions import did_you_mean

from . import event_rows
from .chosen_pod import pod_of
from .node_pods import full_name
from .printing import print_documents, print_lines, print_objects, warn, watch
from .questions import node_pods

_NODES: Final = ("node", "nodes", "no")
"""What kubectl calls a node, as in `--for node/n1`."""


def events(context: Context) -> int:
    """Show the events once, or follow new ones."""
    shown: dict[str, int] = {}
    widths: list[int] = []
    _show_events(context, shown, widths, first=True)
    if context.arguments.watch:
        watch(lambda: _show_events(context, shown, widths))
    return OK


def _show_events(context: Context, shown: dict[str, int], widths: list[int], *, first: bool = False) -> None:
    """Print the events that are not in `shown` (count by identity), and add them to it. `first`: say so if there are
    none."""
    arguments = context.arguments
    answers = Answers(context, context.tree())
    found = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents)
    if found is None:
        why = "; ".join(answers.problems)
        raise CommandError(NO_ANSWER, f"{why}; earlier events are in its log: `supervise logs event_client`")
    mine = _of_pod(found.events, arguments, answers)
    fresh = [event for event in mine if shown.get(event_rows.identity(event)) != event.count]
    now, wide = time.time(), arguments.output == WIDE
    if context.form:
        if arguments.watch:
            print_documents(context, [event_rows.document(event) for event in fresh])
        else:
            print_objects(context, [event_rows.document(event) for event in mine])
    elif fresh:
        rows = [(event_rows.wide_row if wide else event_rows.row)(event, now) for event in fresh]
        header = event_rows.WIDE if wide else event_rows.HEADER
        text = table_with_texts(header, rows, terminal_columns(sys.stdout), widths)
        print_lines(*(line for lines in (text[1:] if shown or arguments.no_headers else text) for line in lines))
    elif first and arguments.watch:
        warn(f"{_no_events_text(_wanted_pod(arguments), found, now)}; waiting for one")
    elif first:
        print_lines(_no_events_text(_wanted_pod(arguments), found, now))
    shown.update((event_rows.identity(event), event.count) for event in fresh)


def _of_pod(seen: Sequence[RecentEvent], arguments: argparse.Namespace, answers: Answers) -> list[RecentEvent]:
    """The wanted events. Raises CommandError if there is no such pod, unless --watch waits for it."""
    if arguments.types:
        seen = [event for event in seen if event.type in arguments.types]
    wanted = _wanted_pod(arguments)
    mine = [event for event in seen if _is_wanted(event, wanted, arguments.namespace)]
    if mine or not wanted or wanted.partition("/")[0] in _NODES:
        return mine
    try:
        pod = pod_of(node_pods(answers), wanted, arguments.namespace)
    except CommandError:
        if arguments.watch:
            return []
        raise
    return [event for event in seen if _is_wanted(event, full_name(pod), "")]


def _wanted_pod(arguments: argparse.Namespace) -> str:
    return str(arguments.pod or arguments.of)


def _no_events_text(pod: str, seen: RecentEvents, now: float) -> str:
    """The text if there are no events of the pod or namespace, but others exist."""
    if not seen.events:
        return event_rows.none_since(seen.since, now)
    hint = did_you_mean(pod, sorted({event.name for event in seen.events if event.kind == "Pod"}))
    return f"no events of {pod or 'that namespace'}{hint}: `supervise events` shows all"


def _is_wanted(event: RecentEvent, pod: str, namespace: str) -> bool:
    space, _, name = pod.rpartition("/")
    if space in _NODES:
        return (event.kind, event.name) == ("Node", name)
    if (space or namespace) not in ("", event.namespace):
        return False
    return not name or (event.kind, event.name) == ("Pod", name)
