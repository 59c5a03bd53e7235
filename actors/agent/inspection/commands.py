"""`supervise pods`, `supervise describe pod NAME`, `supervise events`.

They ask the status manager, and where that is wedged the PLEG: what they show then is what the runtime has. Exit codes
are those of every subcommand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from actors.api_clients.messages import EVENT_CLIENT, GetRecentEvents, RecentEvent, RecentEvents
from actors.pleg.messages import PLEG, GetRuntimePods, RuntimeSnapshot
from actors.pod_config.messages import POD_CONFIG, GetSources, PodSources
from actors.pod_workers.messages import is_pod_worker, worker_of
from actors.status_manager.messages import STATUS_MANAGER, GetPods, GetPodStatus, Pods, PodStatusFound
from supervision.cli.command import NO_ANSWER, OK, REFUSED, CommandError, Context, json_text
from supervision.cli.parser import CODES, epilog
from supervision.cli.subcommands import CommandSettings, command_parser
from supervision.cli.text import plain, table, table_with_texts, terminal_columns
from supervision.message import Message
from supervision.protocol import Tree
from supervision.suggestions import did_you_mean

from . import event_rows, pod_description, pod_rows
from .node_pods import NodePods, NoSuchPod, find, of_name, of_runtime, refused_by

WATCH_SECONDS: Final = 1.0
R = TypeVar("R", bound=Message)


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
    parser = command_parser(below, "pod", describe, about, settings, examples, outputs[:1] + outputs[2:], codes)
    parser.add_argument("name", help="NAME, NAMESPACE/NAME or UID")
    _namespace(parser)
    parser = command_parser(
        subcommands,
        "events",
        events,
        "what happened to the pods and the node, newest last",
        settings,
        ("supervise events", "supervise events web -w", "supervise events -o json"),
        outputs[:1] + outputs[2:],
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
    shown: dict[str, tuple[str, ...]] = {}
    refused: list[str] = []
    widths: list[int] = []
    code = _show_pods(context, shown, refused, widths)
    while context.arguments.watch:
        time.sleep(WATCH_SECONDS)
        _show_pods(context, shown, refused, widths)
    return code


def _show_pods(context: Context, shown: dict[str, tuple[str, ...]], refused: list[str], widths: list[int]) -> int:
    """Print the pods that look otherwise than `shown`, which is brought up to date, and so `refused` and `widths`."""
    arguments, tree = context.arguments, context.tree()
    found = node_pods(context, tree)
    chosen = [pod for pod in found.pods if arguments.namespace in ("", pod["metadata"].get("namespace"))]
    if arguments.name:
        chosen = [_find(found.pods, context, found.refused)]
    if arguments.output in ("json", "yaml"):
        _print_objects(context, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": chosen})
        return OK
    if not shown:
        for problem in found.problems:
            _warn(problem)
    now, workers = time.time(), workers_of(tree)
    rows = {pod["metadata"]["uid"]: pod_rows.row(pod, now, pod_worker(pod, workers)) for pod in chosen}
    columns = len(pod_rows.HEADER) + (len(pod_rows.WIDE) if arguments.output == "wide" else 0)
    # the age changes by itself
    fresh = [row[:columns] for uid, row in rows.items() if _without_age(shown.get(uid, ())) != _without_age(row)]
    header = (*pod_rows.HEADER, *pod_rows.WIDE)[:columns]
    if fresh:
        text = table(header, sorted(fresh), widths)
        _print(*(text[1:] if shown else text))
    elif not shown and not found.refused:
        _print(f"no pods in namespace {arguments.namespace}" if found.pods else "no pods on this node")
    shown.clear()
    shown.update(rows)
    if not arguments.name:
        _print(*(f"refused: {error}" for error in found.refused if error not in refused))
    refused[:] = found.refused
    return OK


def _without_age(row: tuple[str, ...]) -> tuple[str, ...]:
    # the sixth cell is the age, and the fifth says how long ago a restart was
    return (*row[:4], *(cell.partition(" ")[0] for cell in row[4:5]), *row[6:])


# -- supervise describe pod ---------------------------------------------------------------------------------------
def describe(context: Context) -> int:
    tree = context.tree()
    found = node_pods(context, tree)
    pod = _find(found.pods, context, found.refused)
    uid, problems = pod["metadata"]["uid"], list(found.problems)
    if context.arguments.output in ("json", "yaml"):
        _print_objects(context, pod)
        return OK
    report = None
    if not problems:
        report = _ask(context, STATUS_MANAGER, GetPodStatus(uid=uid), PodStatusFound, problems)
    seen = _ask(context, EVENT_CLIENT, GetRecentEvents(), RecentEvents, problems)
    metadata = pod["metadata"]
    its = event_rows.of_object(
        seen.events if seen is not None else [], "Pod", metadata.get("namespace", ""), metadata["name"], uid
    )
    description = pod_description.Description(pod, pod_worker(pod, workers_of(tree)), report, its, problems)
    _print(*pod_description.lines(description, time.time(), terminal_columns(sys.stdout)))
    return OK


# -- supervise events ---------------------------------------------------------------------------------------------
def events(context: Context) -> int:
    """Show the events once, or follow new ones."""
    arguments = context.arguments
    shown: dict[str, int] = {}
    widths: list[int] = []
    while True:
        found = context.ask(GetRecentEvents(), RecentEvents, name=EVENT_CLIENT)
        mine = [event for event in found.events if _is_wanted(event, arguments.pod, arguments.namespace)]
        if arguments.output in ("json", "yaml"):
            _print_objects(context, mine)
            return OK
        fresh = [event for event in mine if shown.get(event_rows.identity(event)) != event.count]
        now = time.time()
        rows, columns = [event_rows.row(event, now) for event in fresh], terminal_columns(sys.stdout)
        if fresh:
            text = table_with_texts(event_rows.HEADER, rows, columns, widths)
            _print(*(line for lines in (text[1:] if shown else text) for line in lines))
        elif not shown and not arguments.watch:
            _print(_nothing(arguments.pod, found.events))
        shown.update((event_rows.identity(event), event.count) for event in fresh)
        if not arguments.watch:
            return OK
        time.sleep(WATCH_SECONDS)


def _nothing(pod: str, seen: Sequence[RecentEvent]) -> str:
    """Instead of events of the pod, or of any, where others have been seen."""
    if not seen:
        return "no events yet"
    hint = did_you_mean(pod, sorted({event.name for event in seen if event.kind == "Pod"}))
    return f"no events of {pod or 'that namespace'}{hint}: `supervise events` shows all"


def _is_wanted(event: RecentEvent, pod: str, namespace: str) -> bool:
    space, _, name = pod.rpartition("/")
    if (space or namespace) not in ("", event.namespace):
        return False
    return not name or (event.kind, event.name) == ("Pod", name)


# -- asking -------------------------------------------------------------------------------------------------------
def node_pods(context: Context, tree: Tree) -> NodePods:
    """From the status manager, else from the PLEG. Raises CommandError when neither answers."""
    problems: list[str] = []
    pods = known_pods(context, problems)
    sources = _ask(context, POD_CONFIG, GetSources(), PodSources, problems)
    return NodePods(pods, refused_by(sources) if sources is not None else [], problems)


def known_pods(context: Context, problems: list[str]) -> list[dict[str, Any]]:
    """As API objects. `problems` gets what did not answer. Raises CommandError when no actor that knows them does."""
    answer = _ask(context, STATUS_MANAGER, GetPods(), Pods, problems)
    if answer is not None:
        pods: list[dict[str, Any]] = msgspec.json.decode(answer.data)["items"]
        return pods
    snapshot = _ask(context, PLEG, GetRuntimePods(), RuntimeSnapshot, problems)
    if snapshot is None:
        raise CommandError(NO_ANSWER, "; ".join(problems))
    problems[-1] += "; what follows is what the runtime has"
    return [of_runtime(pod) for pod in snapshot.pods]


def _ask(context: Context, name: str, question: Message, reply: type[R], problems: list[str]) -> R | None:
    """The answer; None when it does not come, and `problems` says so. Raises CommandError: no agent runs."""
    try:
        return context.ask(question, reply, name=name)
    except CommandError as error:
        if error.code != NO_ANSWER:
            raise
        problems.append(str(error))
        return None


def workers_of(tree: Tree) -> int:
    """How many shards the pods are spread over."""
    return sum(is_pod_worker(actor.name) for actor in tree.actors)


def pod_worker(pod: dict[str, Any], workers: int) -> str:
    """The name of the shard that drives the pod; '' without any."""
    return worker_of(pod["metadata"].get("uid", ""), workers) if workers else ""


def _find(found: list[dict[str, Any]], context: Context, refused: Sequence[str]) -> dict[str, Any]:
    try:
        return find(found, context.arguments.name, context.arguments.namespace, refused)
    except NoSuchPod as error:
        its = of_name(refused, context.arguments.name)
        lines = [f"refused: {one}" for one in its]
        if others := len(refused) - len(its):
            lines.append(f"{others} more errors of other manifests: `supervise pods` shows them")
        raise CommandError(REFUSED, "\n".join([str(error), *lines])) from None


# -- printing -----------------------------------------------------------------------------------------------------
def _print(*lines: str) -> None:
    _write(*map(plain, lines))


def _write(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - it is what the command is for
    sys.stdout.flush()


def _warn(text: str) -> None:
    print(f"supervise: {plain(text)}", file=sys.stderr)  # noqa: T201


def _print_objects(context: Context, objects: Any) -> None:
    if context.arguments.output == "json":
        _write(json_text(objects))
        return
    import yaml

    _write(yaml.safe_dump(msgspec.to_builtins(objects), sort_keys=False, allow_unicode=True).rstrip())
