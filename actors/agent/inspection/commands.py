"""`supervise pods`, `supervise describe pod NAME`, `supervise events`.

They ask the status manager, and where that is wedged the PLEG: what they show then is what the runtime has. Exit codes
are those of every subcommand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from actors.api_clients.messages import EVENT_CLIENT, GetRecentEvents, RecentEvent, RecentEvents
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus, PodStatusFound
from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, CommandError, Context, as_typed, json_text
from supervision.cli.parser import CODES, epilog
from supervision.cli.subcommands import CommandSettings, command_parser
from supervision.cli.text import plain, table, table_with_texts, terminal_columns
from supervision.suggestions import did_you_mean

from . import event_rows, pod_description, pod_rows
from .node_pods import NodePods, NoSuchPod, PodNotKnown, find, full_name, of_name, why_not
from .questions import node_pods, pod_worker, workers_of

WATCH_SECONDS: Final = 1.0


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add the three subcommands."""
    outputs = ("text", "wide", "json", "yaml")
    codes = {**CODES, REFUSED: "no such pod; the agent is another user's"}
    parser = command_parser(
        subcommands,
        "pods",
        pods,
        "what runs here, and what was refused: one line a pod",
        settings,
        ("supervise pods", "supervise pods -o wide", "supervise pods -w -n kube-system"),
        outputs,
        codes,
    )
    parser.add_argument("name", nargs="?", default="", help="only this pod: NAME, NAMESPACE/NAME or UID")
    _namespace(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="keep watching: show each pod again when it changes")
    about, examples = (
        "everything known about one pod",
        ("supervise describe pod web", "supervise describe pod web -o yaml"),
    )
    below = subcommands.add_parser(
        "describe",
        help=about,
        description="Everything known about one pod: what its worker does, why it waits, what happened to it.",
        epilog=epilog(examples, codes),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).add_subparsers(required=True, metavar="pod NAME")
    parser = command_parser(below, "pod", describe, about, settings, examples, outputs, codes)
    parser.add_argument("name", help="NAME, NAMESPACE/NAME or UID")
    _namespace(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="keep watching: show it again when it changes")
    parser = command_parser(
        subcommands,
        "events",
        events,
        "what happened to the pods and the node, newest last",
        settings,
        ("supervise events", "supervise events web -w", "supervise events -o json"),
        outputs,
        codes,
    )
    parser.add_argument("pod", nargs="?", default="", help="only of this pod: NAME or NAMESPACE/NAME")
    _namespace(parser)
    parser.add_argument("-w", "--watch", "-f", "--follow", action="store_true", help="keep showing new events")


def _namespace(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("-n", "--namespace", default="", help="only of this namespace")
    one.add_argument("-A", "--all-namespaces", action="store_true", help="of all: as without -n")


# -- supervise pods -----------------------------------------------------------------------------------------------
def pods(context: Context) -> int:
    """Show them once, or again and again."""
    shown = _Shown()
    _show_pods(context, shown)
    if context.arguments.watch:
        _watch(lambda: _show_pods(context, shown))
    return OK


class _Shown:
    """What `supervise pods` has shown: rows or API objects by UID, errors, problems, widths of columns."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, ...]] = {}
        self.objects: dict[str, Any] = {}
        self.refused: list[str] = []
        self.problems: list[str] = []
        self.widths: list[int] = []


def _show_pods(context: Context, shown: _Shown) -> None:
    """Print the pods that look otherwise than `shown`, which is brought up to date."""
    arguments, tree = context.arguments, context.tree()
    found = node_pods(Answers(context, tree))
    chosen = [pod for pod in found.pods if arguments.namespace in ("", pod["metadata"].get("namespace"))]
    if arguments.name:
        chosen = [_find(found, arguments.name, arguments.namespace)]
    if not shown.problems:  # it is told once, however its text changes
        for problem in found.problems:
            _warn(problem)
    shown.problems = found.problems
    if arguments.output in ("json", "yaml"):
        if arguments.watch:
            objects = {pod["metadata"]["uid"]: pod for pod in chosen}
            _print_documents(context, [pod for uid, pod in objects.items() if shown.objects.get(uid) != pod])
            shown.objects = objects
        else:
            _print_objects(context, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": chosen})
        return
    now, workers = time.time(), workers_of(tree)
    rows = {pod["metadata"]["uid"]: pod_rows.row(pod, now, pod_worker(pod, workers)) for pod in chosen}
    columns = len(pod_rows.HEADER) + (len(pod_rows.WIDE) if arguments.output == "wide" else 0)
    # the age changes by itself
    fresh = [row[:columns] for uid, row in rows.items() if _without_age(shown.rows.get(uid, ())) != _without_age(row)]
    header = (*pod_rows.HEADER, *pod_rows.WIDE)[:columns]
    if fresh:
        text = table(header, sorted(fresh), shown.widths)
        _print(*(text[1:] if shown.rows else text))
    elif not shown.rows and not found.refused:
        where = f"in namespace {arguments.namespace}" if found.pods else "on this node"
        _print(f"no pods {'are known ' if found.problems else ''}{where}")
    shown.rows = rows
    if not arguments.name:
        _print(*(f"refused: {error}" for error in found.refused if error not in shown.refused))
    shown.refused = found.refused


def _without_age(row: tuple[str, ...]) -> tuple[str, ...]:
    # the sixth cell is the age, and the fifth says how long ago a restart was
    return (*row[:4], *(cell.partition(" ")[0] for cell in row[4:5]), *row[6:])


def _watch(show: Callable[[], object]) -> None:
    """Show it each second, until Ctrl-C. If an actor or the agent does not answer, say so once and wait."""
    told = False
    while True:
        time.sleep(WATCH_SECONDS)
        try:
            show()
            told = False
        except CommandError as error:
            if error.code not in (NO_ANSWER, NOT_RUNNING):
                raise
            if not told:
                _warn(f"{error}; waiting for it")
            told = True


# -- supervise describe pod ---------------------------------------------------------------------------------------
def describe(context: Context) -> int:
    """Show it once, or again when it has changed."""
    before = _describe(context, None)
    if context.arguments.watch:

        def again() -> None:
            nonlocal before
            before = _describe(context, before)

        _watch(again)
    return OK


def _describe(context: Context, before: Any) -> Any:
    """Print what is known of the pod unless it is `before`, the answer of the last call; None: there was none."""
    tree = context.tree()
    answers = Answers(context, tree)
    found = node_pods(answers)
    pod = _find(found, context.arguments.name, context.arguments.namespace)
    metadata, uid = pod["metadata"], pod["metadata"]["uid"]
    if context.arguments.output in ("json", "yaml"):
        for problem in found.problems if before is None else ():
            _warn(problem)
        if context.arguments.watch:
            _print_documents(context, [pod] if pod != before else [])
        else:
            _print_objects(context, pod)
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
        pod, worker, report, its, problems, since, wide=context.arguments.output == "wide"
    )
    if description != before:
        text = pod_description.lines(description, time.time(), terminal_columns(sys.stdout))
        _print(*([] if before is None else [""]), *text)
    return description


# -- supervise events ---------------------------------------------------------------------------------------------
def events(context: Context) -> int:
    """Show the events once, or follow new ones."""
    shown: dict[str, int] = {}
    widths: list[int] = []
    _show_events(context, shown, widths, first=True)
    if context.arguments.watch:
        _watch(lambda: _show_events(context, shown, widths))
    return OK


def _show_events(context: Context, shown: dict[str, int], widths: list[int], *, first: bool = False) -> None:
    """Print the events that are not in `shown` (count by identity), and add them to it. `first`: say so if there are
    none."""
    arguments = context.arguments
    answers = Answers(context, context.tree())
    found = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents)
    if found is None:
        raise CommandError(NO_ANSWER, "; ".join(answers.problems))
    mine = _of_pod(found.events, arguments, answers)
    fresh = [event for event in mine if shown.get(event_rows.identity(event)) != event.count]
    now, wide = time.time(), arguments.output == "wide"
    if arguments.output in ("json", "yaml"):
        if arguments.watch:
            _print_documents(context, fresh)
        else:
            _print_objects(context, mine)
    elif fresh:
        rows = [(event_rows.wide_row if wide else event_rows.row)(event, now) for event in fresh]
        header = event_rows.WIDE if wide else event_rows.HEADER
        text = table_with_texts(header, rows, terminal_columns(sys.stdout), widths)
        _print(*(line for lines in (text[1:] if shown else text) for line in lines))
    elif first and arguments.watch:
        _warn(f"{_no_events_text(arguments.pod, found, now)}; waiting for one")
    elif first:
        _print(_no_events_text(arguments.pod, found, now))
    shown.update((event_rows.identity(event), event.count) for event in fresh)


def _of_pod(seen: Sequence[RecentEvent], arguments: argparse.Namespace, answers: Answers) -> list[RecentEvent]:
    """Those that are asked for. Raises CommandError if there is no such pod, unless it is waited for."""
    mine = [event for event in seen if _is_wanted(event, arguments.pod, arguments.namespace)]
    if mine or not arguments.pod:
        return mine
    try:
        pod = _find(node_pods(answers), arguments.pod, arguments.namespace)
    except CommandError:
        if arguments.watch:
            return []
        raise
    return [event for event in seen if _is_wanted(event, full_name(pod), "")]


def _no_events_text(pod: str, seen: RecentEvents, now: float) -> str:
    """Instead of events of the pod, or of any, where others have been seen."""
    if not seen.events:
        return event_rows.none_since(seen.since, now)
    hint = did_you_mean(pod, sorted({event.name for event in seen.events if event.kind == "Pod"}))
    return f"no events of {pod or 'that namespace'}{hint}: `supervise events` shows all"


def _is_wanted(event: RecentEvent, pod: str, namespace: str) -> bool:
    space, _, name = pod.rpartition("/")
    if (space or namespace) not in ("", event.namespace):
        return False
    return not name or (event.kind, event.name) == ("Pod", name)


# -- one of them ---------------------------------------------------------------------------------------------------
def _find(found: NodePods, wanted: str, namespace: str) -> dict[str, Any]:
    try:
        return find(found.pods, wanted, namespace, found.refused, by_runtime=found.by_runtime)
    except NoSuchPod as error:
        unknown = isinstance(error, PodNotKnown) and not of_name(found.refused, wanted)
        raise CommandError(
            NO_ANSWER if unknown else REFUSED, why_not(error, found.refused, wanted, found.problems)
        ) from None


# -- printing -----------------------------------------------------------------------------------------------------
def _print(*lines: str) -> None:
    _write(*map(plain, lines))


def _write(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - it is what the command is for
    sys.stdout.flush()


def _warn(text: str) -> None:
    print(f"supervise: {plain(as_typed(text))}", file=sys.stderr)  # noqa: T201


def _print_objects(context: Context, objects: Any) -> None:
    if context.arguments.output == "json":
        _write(json_text(objects))
        return
    import yaml

    _write(yaml.safe_dump(msgspec.to_builtins(objects), sort_keys=False, allow_unicode=True).rstrip())


def _print_documents(context: Context, objects: Sequence[Any]) -> None:
    """One document each, as they come."""
    for one in objects:
        if context.arguments.output == "yaml":
            _write("---")
        _print_objects(context, one)
