"""`supervise describe pod NAME`: everything known about one pod."""

from __future__ import annotations

import sys
import time
from typing import Any

from actors.api_clients.messages import EVENT_CLIENT, GetRecentEvents, RecentEvents
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus, PodStatusFound
from supervision.cli.answers import Answers
from supervision.cli.command import OK, Context
from supervision.cli.text import terminal_columns

from . import event_rows, pod_description
from .chosen_pod import pod_of
from .printing import print_documents, print_lines, print_objects, warn, watch
from .questions import node_pods, pod_worker, workers_of


def describe(context: Context) -> int:
    """Show it once, or again when it has changed."""
    before = _describe(context, None)
    if context.arguments.watch:

        def again() -> None:
            nonlocal before
            before = _describe(context, before)

        watch(again)
    return OK


def _describe(context: Context, before: Any) -> Any:
    """Print the pod unless its text equals `before`, the answer of the last call (None: no call yet)."""
    tree = context.tree()
    answers = Answers(context, tree)
    found = node_pods(answers)
    pod = pod_of(found, context.arguments.name, context.arguments.namespace)
    metadata, uid = pod["metadata"], pod["metadata"]["uid"]
    if context.arguments.output in ("json", "yaml"):
        for problem in found.problems if before is None else ():
            warn(problem)
        if context.arguments.watch:
            print_documents(context, [pod] if pod != before else [])
        else:
            print_objects(context, pod)
        return pod
    report = None
    if not found.by_runtime:
        report = answers.get(STATUS_MANAGER, GetPodStatus(uid=uid), PodStatusFound, "what its worker does is not shown")
    seen = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents, "events are not shown")
    its, since = None, 0.0
    if seen is not None:
        its = event_rows.of_object(seen.events, "Pod", metadata.get("namespace", ""), metadata["name"], uid)
        since = seen.since
    worker = pod_worker(pod, workers_of(tree))
    problems = [*found.problems, *(one for one in answers.problems if one not in found.problems)]
    description = pod_description.Description(
        pod, worker, report, its, problems, since, removed=uid in found.removed, wide=context.arguments.output == "wide"
    )
    if description != before:
        text = pod_description.lines(description, time.time(), terminal_columns(sys.stdout))
        print_lines(*([] if before is None else [""]), *text)
    return description
