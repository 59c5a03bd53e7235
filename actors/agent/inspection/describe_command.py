"""`supervise describe pod [NAME]`: everything known about one pod, or about all."""

from __future__ import annotations

import sys
import time
from typing import Any

from actors.api_clients.messages import EVENT_CLIENT, GetRecentEvents, RecentEvents
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus, PodStatusFound
from supervision.cli.answers import Answers
from supervision.cli.command import OK, USAGE, CommandError, Context
from supervision.cli.document import WIDE
from supervision.cli.text import terminal_columns
from supervision.protocol import Tree

from . import event_rows
from .chosen_pod import pod_of
from .node_pods import NodePods, full_name
from .pod_description import Description, lines
from .printing import pod_list, print_documents, print_lines, print_objects, warn, watch
from .questions import node_pods, pod_worker, workers_of


def describe(context: Context) -> int:
    """Show one pod once, or again when it has changed; or all pods."""
    if not context.arguments.name:
        return _describe_all(context)
    before = _describe(context, None)
    if context.arguments.watch:

        def again() -> None:
            nonlocal before
            before = _describe(context, before)

        watch(again)
    return OK


def _describe_all(context: Context) -> int:
    """Show the pods of the wanted namespace, or all."""
    arguments = context.arguments
    if arguments.watch:
        raise CommandError(USAGE, "-w needs the name of a pod; of all pods: `supervise pods -w`")
    tree = context.tree()
    answers = Answers(context, tree)
    found = node_pods(answers)
    chosen = [pod for pod in found.pods if arguments.namespace in ("", pod["metadata"].get("namespace"))]
    chosen.sort(key=full_name)
    if context.form:
        _warn_of(found)
        print_objects(context, pod_list(chosen))
        return OK
    for at, pod in enumerate(chosen):
        print_lines(*[""][: at and 1], *_lines(_description(context, tree, answers, found, pod)))
    if not chosen:
        print_lines("no pods in that namespace" if found.pods else "no pods on this node")
    for error in found.refused:
        print_lines(f"refused: {error}")
    return OK


def _describe(context: Context, before: Any) -> Any:
    """Print the pod unless its text equals `before`, the answer of the last call (None: no call yet)."""
    tree = context.tree()
    answers = Answers(context, tree)
    found = node_pods(answers)
    try:
        pod = pod_of(found, context.arguments.name, context.arguments.namespace)
    except CommandError as error:
        raise CommandError(error.code, f"{error}{_of_actor(context.arguments.name, tree)}") from None
    if context.form:
        if before is None:
            _warn_of(found)
        if context.arguments.watch:
            print_documents(context, [pod] if pod != before else [])
        else:
            print_objects(context, pod)
        return pod
    description = _description(context, tree, answers, found, pod)
    if description != before:
        print_lines(*([] if before is None else [""]), *_lines(description))
    return description


def _of_actor(name: str, tree: Tree) -> str:
    """What shows an actor of that name; '' if there is none. Pure."""
    if not any(f"/{actor.name}".endswith(f"/{name}") for actor in tree.actors):
        return ""
    return f"; of the actor: `supervise tree {name}`, `supervise incidents {name}`, `supervise logs {name}`"


def _warn_of(found: NodePods) -> None:
    for problem in found.problems:
        warn(problem)


def _description(context: Context, tree: Tree, answers: Answers, found: NodePods, pod: dict[str, Any]) -> Description:
    metadata, uid = pod["metadata"], pod["metadata"]["uid"]
    report = None
    if not found.by_runtime:
        report = answers.get(STATUS_MANAGER, GetPodStatus(uid=uid), PodStatusFound, "what its worker does is not shown")
    seen = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents, "events are not shown")
    its, since = None, 0.0
    if seen is not None:
        its = event_rows.of_object(seen.events, "Pod", metadata.get("namespace", ""), metadata["name"], uid)
        since = seen.since
    problems = list(dict.fromkeys([*found.problems, *answers.problems]))
    return Description(
        pod, pod_worker(pod, workers_of(tree)), report, its, problems, since, removed=uid in found.removed,
        wide=context.arguments.output == WIDE,
    )  # fmt: skip


def _lines(description: Description) -> list[str]:
    return lines(description, time.time(), terminal_columns(sys.stdout))
