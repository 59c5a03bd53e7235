"""`supervise logs POD`: the log of a container of a pod of this node, read from its file; beside the logs of actors."""

from __future__ import annotations

import argparse
import asyncio
import codecs
import sys
import time
from datetime import datetime
from typing import Final

import msgspec

from actors.config_controller.messages import CONFIG_CONTROLLER, Configz, GetConfigz
from actors.http_servers.container_logs.log_file import LogFile, find_log
from actors.http_servers.container_logs.log_opener import LogUnavailable, open_log
from actors.http_servers.container_logs.query import LogQuery
from actors.http_servers.container_logs.reader import read_log
from actors.http_servers.serving.http_error import HttpError
from actors.shared.config.paths import state_dir_of
from actors.shared.config.start import start_records
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import all_containers, find_container
from supervision.cli import logs as actor_logs
from supervision.cli.answers import Answers
from supervision.cli.argument_types import count
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, USAGE, CommandError, Context, execute, like
from supervision.cli.command_parser import CommandSettings
from supervision.cli.line_array import LineArray
from supervision.state_file import DamagedError

from .inspection.node_pods import NoSuchPod, PodNotKnown, find, of_name, why_not
from .inspection.questions import from_sources, known_pods

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_EXAMPLES: Final = "    supervise logs web -f\n    supervise logs web -c main --previous\n"
_NAMES: Final = "The name is an actor's, a supervisor's or a pod's: an actor's name wins, unless --pod is given."


def extend(parser: argparse.ArgumentParser, settings: CommandSettings) -> None:
    """Let the `logs` command also read logs of pods."""
    parser.description = f"{parser.description}\n{_NAMES}"
    parser.epilog = (parser.epilog or "").replace("Examples:\n\n", f"Examples:\n\n{_EXAMPLES}")
    of_pods = parser.add_argument_group("of pods")
    of_pods.add_argument("--namespace", default="", metavar="NAMESPACE", help="its namespace; -n NAMESPACE, too")
    of_pods.add_argument("--pod", action="store_true", help="the name is a pod's: NAME, NAMESPACE/NAME or UID")
    of_pods.add_argument("-c", "--container", default="", help="which container (default: the first one)")
    of_pods.add_argument("of_container", nargs="?", default="", metavar="container", help="the same")
    of_pods.add_argument("--all-containers", action="store_true", help="of each container, one after the other")
    of_pods.add_argument("-p", "--previous", action="store_true", help="of the instance before the last restart")
    of_pods.add_argument("--timestamps", action="store_true", help="begin each line with its time")
    of_pods.add_argument(
        "--since-time", type=_moment, default=0.0, metavar="TIME", help="only lines since then (RFC 3339)"
    )
    of_pods.add_argument("--tail", type=_tail, dest="lines", metavar="N", default=argparse.SUPPRESS, help="as --lines")
    parser.set_defaults(execute=lambda arguments: execute(run, arguments, settings.where))


def _tail(text: str) -> int:
    """A count of lines, for argparse; -1 is kubectl's word for all, which are 0 here."""
    return 0 if text == "-1" else count(text)


def _moment(text: str) -> float:
    """Seconds since 1970 of a time as 2026-01-02T15:04:05Z, for argparse."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no time as 2026-01-02T15:04:05Z") from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text} has no time zone, as Z or +02:00")
    return moment.timestamp()


def run(context: Context) -> int:
    """The log of an actor or of a pod."""
    arguments = context.arguments
    if (namespace := _namespace(arguments)) and not arguments.actor:
        raise CommandError(USAGE, f"the pod of namespace {namespace} is missing: see `supervise pods`")
    if arguments.container and arguments.of_container:
        raise CommandError(USAGE, "the container is given twice")
    container = arguments.container or arguments.of_container
    if arguments.all_containers and (container or arguments.follow):
        raise CommandError(USAGE, "--all-containers goes with neither a container nor -f")
    if arguments.since and arguments.since_time:
        raise CommandError(USAGE, "--since and --since-time exclude each other")
    only_pods = (
        container or arguments.all_containers or arguments.since_time
        or arguments.previous or arguments.timestamps
    )  # fmt: skip
    if not (arguments.pod or namespace or (arguments.actor and _is_no_actor(context))):
        if arguments.of_container:
            raise CommandError(USAGE, _two_names_text(arguments.actor, arguments.of_container))
        if only_pods:
            options = "-c, --all-containers, --since-time, --previous and --timestamps"
            text = f"{options} are for logs of pods: `supervise logs --pod NAME`"
            raise CommandError(REFUSED, text)
        return actor_logs.run(context)
    return _of_pod(context)


def _two_names_text(actor: str, other: str) -> str:
    return (
        f"{actor} is an actor, and {other} no container of it: give one name; that of a supervisor, as pod_workers, "
        f"has the log of all below it; a pod's: `supervise logs --pod {actor} {other}`"
    )


def _namespace(arguments: argparse.Namespace) -> str:
    """The namespace of the pod; '' if none is given."""
    return str(arguments.lines) if isinstance(arguments.lines, str) else str(arguments.namespace)


def _is_no_actor(context: Context) -> bool:
    """Whether the name is no actor's. While no agent runs or answers, names are those of actors in the log of
    the last one. Raises CommandError: the agent may not be asked."""
    if context.arguments.file or context.arguments.level is not None:
        return False
    name: str = context.arguments.actor
    try:
        actors = context.tree().actors
    except CommandError as error:
        if error.code in (NOT_RUNNING, NO_ANSWER):
            return False
        raise
    return not any(one.name == name or one.name.endswith(f"/{name}") for one in actors)


def _of_pod(context: Context) -> int:
    arguments = context.arguments
    actor_logs.refuse_followed_document(context)
    pod, status = find_pod(context)
    query, directory = _query(arguments), logs_dir(context)
    array = LineArray(sys.stdout, context.form) if context.form else None
    if arguments.all_containers:
        for container in all_containers(pod):
            try:
                _show_one(context, directory, (pod, status), container.name, query, array)
            except CommandError as error:  # it has not started, or not been restarted: the others have a log
                print(f"supervise: {error}", file=sys.stderr)  # noqa: T201
    else:
        _show_one(
            context,
            directory,
            (pod, status),
            arguments.container or arguments.of_container or _default_container(pod),
            query,
            array,
        )
    if array is not None:
        array.end()
    return OK


def _query(arguments: argparse.Namespace) -> LogQuery:
    since = time.time() - arguments.since if arguments.since else arguments.since_time
    return LogQuery(
        follow=arguments.follow,
        previous=arguments.previous,
        timestamps=arguments.timestamps,
        tail_lines=_lines_of(arguments) or None,
        since_ns=int(since * 1e9),
    )


def _lines_of(arguments: argparse.Namespace) -> int:
    return 0 if not isinstance(arguments.lines, int) and arguments.since_time else actor_logs.lines_of(arguments)


def _show_one(
    context: Context, directory: str, found: tuple[Pod, PodStatus], container: str, query: LogQuery,
    array: LineArray | None,
) -> None:  # fmt: skip
    """Show the log of one container. Raises CommandError."""
    pod, status = found
    try:
        log = find_log(pod, status, container, previous=query.previous)
    except HttpError as error:
        raise CommandError(REFUSED, f"{error}{_others(pod, container)}") from None
    try:
        asyncio.run(_show(context, directory, log, query, array))
    except LogUnavailable as error:
        raise CommandError(REFUSED, f"the log of {container} cannot be read: {error}") from None


def _others(pod: Pod, container: str) -> str:
    """The names of the pod's containers, if this is none of them."""
    return "" if find_container(pod, container) else f": it has {', '.join(one.name for one in all_containers(pod))}"


async def _show(context: Context, directory: str, log: LogFile, query: LogQuery, array: LineArray | None) -> None:
    async def running() -> bool:
        try:
            return log.runs_in(find_pod(context)[1])
        except CommandError:
            return True  # the status manager is restarting: the log continues

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for block in read_log(lambda: open_log(directory, log.path, log.container_id), query, running):
        if array is not None:
            array.add_bytes(block)
        else:
            sys.stdout.write(decoder.decode(block))
            sys.stdout.flush()
    sys.stdout.write(decoder.decode(b"", final=True))
    if array is not None:
        array.end_line()


def find_pod(context: Context) -> tuple[Pod, PodStatus]:
    """The pod of that name on this node. Raises CommandError."""
    answers, wanted = Answers(context, context.tree()), context.arguments.actor
    pods, by_runtime, _removed = known_pods(answers)
    try:
        found = find(pods, wanted, _namespace(context.arguments), by_runtime=by_runtime)
        encoded = msgspec.json.encode(found)
        return decode(encoded, Pod), decode(msgspec.json.encode(found.get("status") or {}), PodStatus)
    except NoSuchPod as error:
        hint, (refused, unread) = "", from_sources(answers)
        if not context.arguments.pod and not of_name(refused, wanted):
            hint = f"; nor an actor of that name{like(wanted, [one.name for one in context.tree().actors])}"
        code = NO_ANSWER if isinstance(error, PodNotKnown) else REFUSED
        raise CommandError(code, f"{why_not(error, refused, wanted, [unread] if unread else [])}{hint}") from None
    except ObjectError as error:
        raise CommandError(REFUSED, str(error)) from None


def _default_container(pod: Pod) -> str:
    """The default container without -c: as in kubectl, the one in the annotation, else the first one; if there are
    several, stderr names it. Raises CommandError."""
    if chosen := pod.metadata.annotations.get(_DEFAULT_CONTAINER, ""):
        return chosen
    names = [container.name for container in pod.spec.containers]
    if not names:  # only the runtime was asked, and it has none yet
        raise CommandError(REFUSED, f"pod {pod.metadata.name} has no container yet: see `supervise describe pod`")
    if len(names) > 1:
        print(f"supervise: this is {names[0]} of the containers {', '.join(names)}: choose with -c", file=sys.stderr)  # noqa: T201
    return names[0]


def logs_dir(context: Context) -> str:
    """podLogsDir of the agent, of its start while the config controller does not answer. Raises CommandError."""
    answers = Answers(context, context.tree())
    answer = answers.get(CONFIG_CONTROLLER, GetConfigz(), Configz)
    if answer is None:
        if not (known := _read_start_records(context.arguments.root_dir)):
            raise CommandError(NO_ANSWER, "; ".join(answers.problems))
        return known[-1].pod_logs_dir
    return str(msgspec.json.decode(answer.body)["kubeletconfig"]["podLogsDir"])


def _read_start_records(root_dir: str) -> list[start_records.StartRecord]:
    """The records of the agent's starts, the newest last; none if they cannot be read."""
    try:
        return start_records.read_all(state_dir_of(root_dir))
    except (OSError, DamagedError):
        return []
