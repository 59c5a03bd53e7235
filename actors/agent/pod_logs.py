"""`supervise logs POD`: the log of a container of a pod of this node, read from its file; beside the logs of actors."""

from __future__ import annotations

import argparse
import asyncio
import codecs
import sys
import time
from datetime import datetime
from typing import Final

from actors.http_servers.container_logs.log_file import LogFile, find_log
from actors.http_servers.container_logs.log_opener import LogUnavailable, open_log
from actors.http_servers.container_logs.query import LogQuery
from actors.http_servers.container_logs.reader import read_log
from actors.http_servers.serving.http_error import HttpError
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers, find_container
from supervision.cli import logs as actor_logs
from supervision.cli.argument_types import ALL_LINES, last_lines
from supervision.cli.command import OK, REFUSED, USAGE, CommandError, Context, execute
from supervision.cli.line_array import LineArray
from supervision.cli.subcommand import CommandSettings
from supervision.cli.text import plain_but_colours

from .logged_pod import LoggedPod, find_pod, is_no_actor, log_on_disk, logs_dir, namespace_of

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
    of_pods.add_argument(
        "--tail", type=last_lines, dest="lines", metavar="N", default=argparse.SUPPRESS, help="as --lines"
    )
    parser.set_defaults(execute=lambda arguments: execute(run, arguments, settings.files_of))


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
    if (namespace := namespace_of(arguments)) and not arguments.actor:
        raise CommandError(USAGE, f"the pod of namespace {namespace} is missing: see `supervise pods`")
    if arguments.pod and not arguments.actor:
        raise CommandError(USAGE, "the name of the pod is missing: see `supervise pods`")
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
    if not (arguments.pod or namespace or (arguments.actor and is_no_actor(context))):
        if arguments.of_container:
            raise CommandError(USAGE, _two_names_text(arguments.actor, arguments.of_container))
        if only_pods:
            options = "-c, --all-containers, --since-time, --previous and --timestamps"
            text = f"{options} are for logs of pods: `supervise logs --pod NAME`"
            raise CommandError(USAGE, text)
        return actor_logs.run(context)
    return _of_pod(context)


def _two_names_text(actor: str, other: str) -> str:
    return (
        f"{actor} is an actor, and {other} no container of it: give one name; that of a supervisor, as pod_workers, "
        f"has the log of all below it; a pod's: `supervise logs --pod {actor} {other}`"
    )


def _of_pod(context: Context) -> int:
    arguments = context.arguments
    actor_logs.refuse_followed_document(context)
    found = find_pod(context)
    pod = found.pod
    query, directory = _query(arguments), logs_dir(context)
    array = LineArray(sys.stdout, context.form) if context.form else None
    if arguments.all_containers:
        for container in all_containers(pod):
            try:
                _show_one(context, directory, found, container.name, query, array)
            except CommandError as error:  # it has not started, or not been restarted: the others have a log
                print(f"supervise: {error}", file=sys.stderr)  # noqa: T201
    else:
        _show_one(
            context,
            directory,
            found,
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
        tail_lines=_lines_of(arguments),
        since_ns=int(since * 1e9),
    )


def _lines_of(arguments: argparse.Namespace) -> int | None:
    """None for all."""
    if not isinstance(arguments.lines, int) and arguments.since_time:
        return None
    number = actor_logs.lines_of(arguments)
    return None if number == ALL_LINES else number


def _show_one(
    context: Context, directory: str, found: LoggedPod, container: str, query: LogQuery,
    array: LineArray | None,
) -> None:  # fmt: skip
    """Show the log of one container. Raises CommandError."""
    pod = found.pod
    try:
        log = log_on_disk(found, container, previous=query.previous) if found.without_agent else None
        log = log or find_log(pod, found.status, container, previous=query.previous)
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
            return log.runs_in(find_pod(context).status)
        except CommandError:
            return True  # the status manager is restarting: the log continues

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    safe = plain_but_colours if sys.stdout.isatty() else str
    async for block in read_log(lambda: open_log(directory, log.path, log.container_id), query, running):
        if array is not None:
            array.add_bytes(block)
        else:
            sys.stdout.write(safe(decoder.decode(block)))
            sys.stdout.flush()
    sys.stdout.write(decoder.decode(b"", final=True))
    if array is not None:
        array.end_line()


def _default_container(pod: Pod) -> str:
    """The default container without -c: as in kubectl, the one in the annotation, else the first one; if there are
    several, stderr names it. Raises CommandError."""
    if chosen := pod.metadata.annotations.get(_DEFAULT_CONTAINER, ""):
        return chosen
    names = [container.name for container in pod.spec.containers]
    if not names:  # only the runtime was asked, and it has none yet
        raise CommandError(REFUSED, f"pod {pod.metadata.name} has no container yet: see `supervise describe pod`")
    if len(names) > 1:
        others = f"-c shows another one ({', '.join(names[1:])}), --all-containers each of them"
        print(f"supervise: the log of container {names[0]}; {others}", file=sys.stderr)  # noqa: T201
    return names[0]
