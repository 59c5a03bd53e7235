"""`supervise describe pod [NAME]`: everything known about one pod, or about all."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, GetRecentEvents, RecentEvents
from supervision.cli.command import NO_ANSWER, USAGE, CommandError, Context
from supervision.cli.document import WIDE
from supervision.cli.text import terminal_columns
from supervision.cli.typed_commands import as_typed
from supervision.protocol import Tree

from . import event_rows, pod_waits
from .event_log import events_in_log
from .node_pods import NodePods, full_name
from .node_view import NodeSight, view
from .pod_description import Description, lines
from .printing import pod_list, print_documents, print_lines, print_objects, warn, watch
from .questions import pod_worker


def describe(context: Context) -> int:
    """Show one pod once, or again when it has changed; or all pods."""
    if not context.arguments.name:
        return _describe_all(context)
    shown = _Shown()
    if context.arguments.watch:
        watch(lambda: _describe(context, shown))
    return _describe(context, shown)


class _Shown:
    """The last output of `supervise describe pod NAME`."""

    def __init__(self) -> None:
        self.tries = 0
        """How often the agent was asked."""
        self.before: Any = None
        """The pod or its description; None: nothing was shown yet."""


def _describe_all(context: Context) -> int:
    """Show the pods of the wanted namespace, or all."""
    arguments = context.arguments
    if arguments.watch:
        raise CommandError(USAGE, "-w needs the name of a pod; of all pods: `supervise pods -w`")
    seen = view(context)
    found = seen.pods
    chosen = [pod for pod in found.pods if arguments.namespace in ("", pod["metadata"].get("namespace"))]
    chosen.sort(key=full_name)
    if context.form:
        _warn_of(found)
        print_objects(context, pod_list(chosen))
        return seen.code
    shown: list[str] = []
    recent = _recent_events(context, seen) if chosen else None
    for at, pod in enumerate(chosen):
        description = _description(context, seen, recent, pod)
        fresh = [problem for problem in description.problems if problem not in shown]
        shown += fresh
        print_lines(*[""][: at and 1], *_lines(msgspec.structs.replace(description, problems=fresh)))
    if not chosen:
        print_lines("no pods in that namespace" if found.pods else "no pods on this node")
    for error in found.refused:
        print_lines(f"refused: {error}")
    return seen.code


def _describe(context: Context, shown: _Shown) -> int:
    """Print the pod unless it is as it was shown last; the exit code."""
    shown.tries += 1
    seen = view(context, or_without_agent=shown.tries == 1)
    found, before = seen.pods, shown.before
    try:
        pod = seen.pod(context.arguments.name, context.arguments.namespace)
    except CommandError as error:
        raise CommandError(error.code, f"{error}{_of_actor(context.arguments.name, seen.tree)}") from None
    if context.form:
        if before is None:
            _warn_of(found)
        if context.arguments.watch:
            print_documents(context, [pod] if pod != before else [])
        else:
            print_objects(context, pod)
        shown.before = pod
        return seen.code
    description = _description(context, seen, _recent_events(context, seen), pod)
    if description != before:
        print_lines(*([] if before is None else [""]), *_lines(description))
    shown.before = description
    return seen.code


def _of_actor(name: str, tree: Tree | None) -> str:
    """What shows an actor of that name; '' if there is none. Pure."""
    if tree is None or not any(f"/{actor.name}".endswith(f"/{name}") for actor in tree.actors):
        return ""
    return f"; of the actor: `supervise tree {name}`, `supervise incidents {name}`, `supervise logs {name}`"


def _warn_of(found: NodePods) -> None:
    for problem in found.problems:
        warn(problem)


def _recent_events(context: Context, seen: NodeSight) -> RecentEvents | None:
    """The node's events, by its agent or, with `since` 0, by its log; None: neither is known."""
    if seen.answers is not None:
        found = seen.answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents, "events are those of the log")
        if found is not None:
            return found
    with contextlib.suppress(CommandError):
        logged = events_in_log(context, seen.tree, seen.error or CommandError(NO_ANSWER, ""))
        return RecentEvents(logged.events.events, 0.0)
    return None


def _description(context: Context, seen: NodeSight, recent: RecentEvents | None, pod: dict[str, Any]) -> Description:
    """`recent`: the events of the whole node."""
    metadata, uid, found = pod["metadata"], pod["metadata"]["uid"], seen.pods
    waits, problems = pod_waits.NOTHING, [*found.problems]
    if seen.answers is not None:
        waits = pod_waits.of_pod(seen.answers, pod, by_runtime=found.by_runtime)
        problems += seen.answers.problems
    its = None
    if recent is not None:
        its = event_rows.of_object(recent.events, "Pod", metadata.get("namespace", ""), metadata["name"], uid)
    since = recent.since if recent is not None else 0.0
    return Description(
        pod, pod_worker(pod, seen.workers), waits, its, list(dict.fromkeys(map(as_typed, problems))), since,
        removed=uid in found.removed, wide=context.arguments.output == WIDE,
    )  # fmt: skip


def _lines(description: Description) -> list[str]:
    return lines(description, time.time(), terminal_columns(sys.stdout))
