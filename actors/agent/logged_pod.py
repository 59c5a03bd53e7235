"""The pod whose log `supervise logs` shows, by the agent or without one, and its log files."""

from __future__ import annotations

import argparse
import re
from typing import NamedTuple

import msgspec

from actors.config_controller.messages import CONFIG_CONTROLLER, Configz, GetConfigz
from actors.http_servers.container_logs.log_file import LogFile
from actors.shared.config.paths import state_dir_of
from actors.shared.config.start import start_records
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import container_statuses
from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, REFUSED, CommandError, Context, like
from supervision.protocol import FORK_SERVER
from supervision.state_file import DamagedError

from .inspection.node_pods import NodePods, NoSuchPod, Object, PodNotKnown, find, of_name, why_not
from .inspection.node_view import SILENT, NodeSight
from .inspection.questions import from_sources, list_pods
from .inspection.refused_manifests import names_in_refused, refused_without_agent
from .inspection.without_agent import pods_without_agent


def namespace_of(arguments: argparse.Namespace) -> str:
    """The namespace of the pod; '' if none is given."""
    return str(arguments.lines) if isinstance(arguments.lines, str) else str(arguments.namespace)


def is_no_actor(context: Context) -> bool:
    """Whether the name is no actor's. While no agent runs or answers, it is one if an actor of some configuration has
    it. Raises CommandError: the agent may not be asked."""
    if context.arguments.file or context.arguments.level is not None:
        return False
    name: str = context.arguments.actor
    try:
        actors = context.tree().actors
    except CommandError as error:
        if error.code not in SILENT:
            raise
        return not _may_be_actor(name)
    return name != FORK_SERVER and not any(one.name == name or one.name.endswith(f"/{name}") for one in actors)


def _may_be_actor(name: str) -> bool:
    """Whether a process of some configuration has that name, or one that ends so."""
    from actors.tree import OPTIONAL, declarations, supervisors

    known = {*OPTIONAL, *(node.name for node in declarations()), *(node.name for node in supervisors()), FORK_SERVER}
    end = re.sub(r"/\d+$", "/*", f"/{name}")  # a declaration has `*` in place of the number of a shard
    return any(f"/{one}".endswith(end) for one in known)


class LoggedPod(NamedTuple):
    """A pod of this node."""

    pod: Pod
    status: PodStatus
    without_agent: bool = False
    """As the runtime or the files say: there was no agent to ask."""


def find_pod(context: Context) -> LoggedPod:
    """The pod of that name on this node. Raises CommandError."""
    wanted = context.arguments.actor
    try:
        tree = context.tree()
    except CommandError as silence:
        if silence.code not in SILENT:
            raise
        without = pods_without_agent(context.arguments.root_dir, silence, context.arguments.timeout)
        return _decoded(_without_agent(context, without, silence), without_agent=True)
    answers = Answers(context, tree)
    pods, by_runtime, _removed = list_pods(answers)
    try:
        return _decoded(find(pods, wanted, namespace_of(context.arguments), by_runtime=by_runtime))
    except NoSuchPod as error:
        hint, (refused, unread) = "", from_sources(answers)
        named = names_in_refused(refused)
        if not context.arguments.pod and not of_name(refused, wanted, named):
            hint = f"; nor an actor of that name{like(wanted, [one.name for one in tree.actors])}"
        code = NO_ANSWER if isinstance(error, PodNotKnown) else REFUSED
        raise CommandError(
            code, f"{why_not(error, refused, wanted, [unread] if unread else [], named)}{hint}"
        ) from None


def _without_agent(context: Context, pods: NodePods, silence: CommandError) -> Object:
    """Raises CommandError."""
    view = NodeSight(msgspec.structs.replace(pods, refused=refused_without_agent(context)), error=silence)
    wanted, namespace = context.arguments.actor, namespace_of(context.arguments)
    try:
        return view.pod(wanted, namespace)
    except CommandError as error:
        if error.code not in SILENT or context.arguments.pod or namespace or _may_be_actor(wanted):
            raise
        raise CommandError(error.code, f"no actor has the name {wanted}, and {error}") from None


def _decoded(found: Object, *, without_agent: bool = False) -> LoggedPod:
    """Raises CommandError."""
    status = found.get("status") or {}
    # what only the runtime knows has no `ready`
    containers = [{"ready": False, **one} for one in status.get("containerStatuses") or []]
    status = {**status, "containerStatuses": containers}
    try:
        pod = decode(msgspec.json.encode({**found, "status": status}), Pod)
        return LoggedPod(pod, decode(msgspec.json.encode(status), PodStatus), without_agent)
    except ObjectError as error:
        raise CommandError(REFUSED, str(error)) from None


def log_on_disk(found: LoggedPod, container: str, *, previous: bool) -> LogFile | None:
    """The log of the last instance that has one, or of the one before; None if the container is not known."""
    status = next((one for one in container_statuses(found.status) if one.name == container), None)
    if status is None or status.restartCount < previous:
        return None
    meta = found.pod.metadata
    path = f"{meta.namespace}_{meta.name}_{meta.uid}/{container}/{status.restartCount - previous}.log"
    return LogFile(container, "" if previous else status.containerID, path)


def logs_dir(context: Context) -> str:
    """podLogsDir of the agent, of its start while the config controller does not answer. Raises CommandError."""
    try:
        answers = Answers(context, context.tree())
        answer = answers.get(CONFIG_CONTROLLER, GetConfigz(), Configz)
        silence = CommandError(NO_ANSWER, "; ".join(answers.problems))
    except CommandError as error:
        answer, silence = None, error
    if answer is None:
        if silence.code not in SILENT or not (known := _read_start_records(context.arguments.root_dir)):
            raise silence
        return known[-1].pod_logs_dir
    return str(msgspec.json.decode(answer.body)["kubeletconfig"]["podLogsDir"])


def _read_start_records(root_dir: str) -> list[start_records.StartRecord]:
    """The records of the agent's starts, the newest last; none if they cannot be read."""
    try:
        return start_records.read_all(state_dir_of(root_dir))
    except (OSError, DamagedError):
        return []
