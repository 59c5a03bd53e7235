"""Runs the checks and shows their findings."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from actors.agent.inspection import pod_waits
from actors.agent.inspection.questions import list_pods
from actors.agent.read_only_disk import is_read_only
from actors.agent.remedies import RESTART, awaits_restart
from actors.agent.running_flags import of_agent, of_last_start, where_it_started
from actors.agent.validation import validate
from actors.api_clients.event_client.messages import EVENT_CLIENT, GetRecentEvents, RecentEvents
from actors.config_controller.messages import CONFIG_CONTROLLER, Flagz, GetFlagz
from actors.pod_config.messages import POD_CONFIG, GetSources, PodSources
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.loading import load
from supervision import time_scale
from supervision.cli.agent_files import neighbours
from supervision.cli.answers import Answers
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, NOT_WELL, OK, CommandError, Context, OtherVersionError
from supervision.cli.document import document_text
from supervision.cli.signals import stopped_by_signal
from supervision.cli.text import for_terminal, plain, terminal_columns, wrapped
from supervision.cli.typed_commands import DEFAULT_ROOT_DIR, remedy_as_typed
from supervision.errors import error_reason, error_text
from supervision.hanging_disks import REMEDY, hangs, require_answer
from supervision.protocol import Tree, Trouble

from . import agent_checks, certificate_checks, cluster_checks, host_checks, runtime_checks, shared_runtime
from .finding import Finding, Level, failure, ok, unknown, warning
from .permissions import BY_GATE
from .valid_part import valid_part

_NAMED: Final = re.compile(r"(?<=: )(?:feature gate )?(--[a-z][a-z0-9-]+|[A-Za-z][\w.]+(?= \())|^([a-z][\w.]+)(?=: )")
"""The first flag, field or gate of a list in a warning."""
_KUBECONFIGS: Final = {"--kubeconfig", "--bootstrap-kubeconfig"}
"""If one of these fields has a problem, the problem is reported already and the cluster is not asked."""
_BROKEN: Final = frozenset({errno.EIO, errno.ENOTCONN, errno.ESTALE, errno.ENXIO})
"""The errors of a disk, or of a server of files, and not of who may look."""
_SIGNS: Final = {Level.OK: "ok", Level.WARNING: "WARN", Level.FAILURE: "FAIL", Level.UNKNOWN: "????"}


def run(context: Context) -> int:
    """0: no failure, 1: one or more."""
    found: list[Finding] = []
    root_dir = context.arguments.root_dir

    def shown() -> Iterator[Finding]:
        for each in findings(context):
            finding = msgspec.structs.replace(each, remedy=remedy_as_typed(each.remedy, root_dir))
            found.append(finding)
            if finding.level is not Level.OK or context.arguments.all:
                yield finding

    for finding in shown() if context.form else once_each(shown()):
        if not context.form:
            _print(plain(text(finding, terminal_columns(sys.stdout))))
    wrong = sum(finding.level is Level.FAILURE for finding in found)
    if context.form:
        _print(document_text(found, context.form))
    else:
        _print(for_terminal(summary(found), sys.stdout))
    return NOT_WELL if wrong else OK


def text(finding: Finding, columns: int = 0) -> str:
    """One finding as lines. Its remedy, which may be a command, stays in one line. `columns`: of the terminal; 0:
    any."""
    lines = wrapped(f"{finding.subject}: {finding.text}", columns, " " * 6, f"{_SIGNS[finding.level]:<4}  ")
    return "\n".join([*lines, f"      -> {finding.remedy}"] if finding.remedy else lines)


def once_each(found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings. Of consecutive findings of one subject with the same remedy, only the last one keeps the remedy."""
    before: Finding | None = None
    for finding in found:
        if before is not None:
            repeated = bool(before.remedy) and (before.subject, before.remedy) == (finding.subject, finding.remedy)
            yield msgspec.structs.replace(before, remedy="") if repeated else before
        before = finding
    if before is not None:
        yield before


def summary(found: Sequence[Finding]) -> str:
    """The last line."""
    count = {level: sum(one.level is level for one in found) for level in Level}
    parts = [_count_text(count[Level.FAILURE], "failure"), _count_text(count[Level.WARNING], "warning")]
    if count[Level.UNKNOWN]:
        parts.append(f"{count[Level.UNKNOWN]} could not be checked")
    return f"{_count_text(len(found), 'finding')}: {', '.join(parts)}, {count[Level.OK]} in order"


def _count_text(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def findings(context: Context) -> Iterator[Finding]:
    """All checks, one after the other."""
    tree, running = None, True
    try:
        tree = _tree(context)
    except CommandError as error:
        yield unanswered(error)
        if error.code != NO_ANSWER:
            return  # this user may see neither the agent nor the host
    else:
        running = tree is not None
    if tree is not None:
        yield from agent_checks.tree(tree, stopped_by_signal(tree.actors))
    root_dir = context.arguments.root_dir
    yield from _disk(root_dir)
    if hangs(root_dir):
        yield unknown("host", "configuration, host and certificates are not checked: that would never end")
    else:
        yield from _files_and_host(context, tree, running=running)
    if tree is not None:
        yield from _run_check("pods", lambda: _pods(Answers(context, tree)))
        yield from _run_check("manifests", lambda: _manifests(Answers(context, tree)))


def _disk(root_dir: str) -> Iterator[Finding]:
    try:
        require_answer(Path(root_dir, "troupelet"), writes=True)
    except TimeoutError as error:
        yield failure("disk", f"{root_dir}: {error.strerror}: no pod starts, and nothing is recorded", REMEDY)
        return
    try:
        os.stat(root_dir)
    except OSError as error:
        if error.errno in _BROKEN:
            text = f"{root_dir}: {error_reason(error)}: no pod starts, and nothing is recorded"
            yield failure("disk", text, "dmesg | tail: mend the disk, or its server, and mount it again")


def _files_and_host(context: Context, tree: Tree | None, *, running: bool) -> Iterator[Finding]:
    """`running`: an agent runs, though it may not answer."""
    flagz = None
    try:
        flagz = _flagz(context, tree)
    except OtherVersionError as error:
        yield unanswered(error)
    words = _words(context, tree, flagz)
    last = None if context.arguments.flags or tree is not None else context.files.last_start()
    with where_it_started(None if context.arguments.flags else tree, last.directory if last is not None else ""):
        warnings, problems = validate(words)
        agent = _load_agent(words) or (None if flagz is None else _load_agent(words, in_force=True))
        part = valid_part(words, problems) if agent is None else None
    if not running:
        checked = agent or (part and part.agent)
        prevented = [*map(str, problems), *(_prevented(checked) if checked else ())]
        yield from agent_checks.not_running(context.files.refused_start(), _start_words(context), prevented)
    yield from _configuration(context, flagz, warnings, problems)
    if part is not None:
        agent = part.agent
        yield unknown("configuration", f"not valid: what follows checks this host {part.checked}")
    if agent is not None:
        yield from _host(context, agent, problems, running=running, waiting=flagz is not None and bool(flagz.waiting))
        yield from _run_checks(
            "certificates", certificate_checks.checks(agent, running=running, trouble=_trouble(tree))
        )
        if not (agent.standalone or _KUBECONFIGS & {problem.path for problem in problems}):
            yield from _run_check("API server", lambda: _cluster(agent, running=running))


def _configuration(
    context: Context, flagz: Flagz | None, warnings: Sequence[str], problems: Sequence[ConfigProblem]
) -> Iterator[Finding]:
    """What is wrong with flags and files, and what of them is not in force."""
    given = _given_flags(context)
    for problem in problems:
        yield failure("configuration", str(problem), f"supervise config check {shlex.join(given)}".rstrip())
    concerns = []
    if flagz is not None:
        restart = context.restart_command() if awaits_restart(flagz) else ""
        yield from agent_checks.version(flagz, restart)
        concerns = [*agent_checks.configuration(flagz, restart, checked=bool(problems))]
    yield from concerns
    for text in warnings:
        named = _NAMED.search(text)
        yield warning("configuration", text, f"supervise config explain {named[1] or named[2] if named else 'FIELD'}")
    if not (problems or warnings or concerns):
        yield ok("configuration", "valid")


def _host(
    context: Context, agent: Agent, problems: Sequence[ConfigProblem], *, running: bool, waiting: bool
) -> Iterator[Finding]:
    """What this host has for the agent. `waiting`: fields wait for a restart of the agent."""
    if not running:
        yield from _run_check("start", lambda: host_checks.start(agent, problems))
    elif waiting:
        yield from _run_check("start", lambda: host_checks.restart(agent, problems))
    yield from _run_check("container runtime", lambda: runtime_checks.runtime(agent, running=running))
    yield from _run_check("container runtime", lambda: _shared_runtime(agent, context))
    images = runtime_checks.image_directories(agent) if running or not agent.managed_runtime else {}
    yield from _run_checks("host", host_checks.checks(agent, running=running, images=images))


def _shared_runtime(agent: Agent, context: Context) -> Iterator[Finding]:
    return shared_runtime.shared(agent, (other for _, other in neighbours(context.files.run_dir)))


def _prevented(agent: Agent) -> list[str]:
    """Why this host would refuse a start now; none where that cannot be found out."""
    try:
        unprepared = runtime_checks.unprepared(agent)
        disk = [f"{agent.root_dir} is read-only"] if is_read_only(agent.root_dir) else []
        return [
            *map(str, host_checks.start_problems(agent)),
            *([str(unprepared)] if unprepared is not None else ()),
            *disk,
        ]
    except Exception:  # noqa: BLE001 - the check that fails is a finding of its own
        return []


def unanswered(error: CommandError) -> Finding:
    """The finding for an agent that runs and was not asked, or does not answer. What the error advises is the remedy.
    Pure."""
    otherwise = RESTART if error.code == NO_ANSWER else "sudo supervise doctor"
    return failure("agent", error.cause, error.remedy or otherwise)


def _load_agent(words: Sequence[str], *, in_force: bool = False) -> Agent | None:
    """None: the flags or the configuration are invalid. An invalid kubeconfig does not matter here. `in_force`: load
    the configuration with which the agent runs, whatever its files contain now."""
    try:
        return load(words, recover=False, in_force=in_force)
    except ConfigErrors:
        return None


def _cluster(agent: Agent, *, running: bool) -> Iterator[Finding]:
    # before the node has a certificate, use the kubeconfig that obtains one
    bootstrap = bool(agent.bootstrap_kubeconfig) and not Path(agent.kubeconfig).exists()
    used = agent.bootstrap_kubeconfig if bootstrap else agent.kubeconfig
    gates = [gate for gate in BY_GATE if agent.gate(gate)]
    stored = certificate_checks.stored_client_pair(agent)
    return cluster_checks.cluster(used, agent.node_name, stored, bootstrap=bootstrap, gates=gates, running=running)


def _trouble(tree: Tree | None) -> Trouble | None:
    """What the agent says of its requests for a client certificate."""
    found = () if tree is None else tree.troubles
    return next((trouble for trouble in found if trouble.service == certificate_checks.CLIENT), None)


def _pods(answers: Answers) -> Iterator[Finding]:
    pods, by_runtime, removed = list_pods(answers)
    if by_runtime:
        yield unknown("pods", answers.problems[-1])
        return
    seen = answers.get(EVENT_CLIENT, GetRecentEvents(), RecentEvents)  # without events the status still explains a pod
    events = seen.events if seen is not None else ()
    yield from agent_checks.pods(pods, events, time.time(), removed, lambda pod: pod_waits.of_pod(answers, pod))


def _manifests(answers: Answers) -> Iterator[Finding]:
    sources = answers.get(POD_CONFIG, GetSources(), PodSources)
    if sources is None:
        yield unknown("manifests", answers.problems[-1])
        return
    yield from agent_checks.manifests(sources)


def _tree(context: Context) -> Tree | None:
    """None: no agent runs. Raises CommandError: one runs, and may not be asked or does not answer."""
    try:
        return context.tree()
    except CommandError as error:
        time_scale.use(time_scale.find()[0])
        if error.code != NOT_RUNNING:
            raise
        return None


def _given_flags(context: Context) -> list[str]:
    return [word for word in context.arguments.flags if word != "--"]


def _flagz(context: Context, tree: Tree | None) -> Flagz | None:
    """The flags of the running agent; None if they are not requested or it does not answer. Raises
    OtherVersionError."""
    if _given_flags(context) or tree is None:
        return None
    try:
        return context.ask(GetFlagz(), Flagz, name=CONFIG_CONTROLLER)
    except OtherVersionError:
        raise
    except CommandError:
        return None


def _words(context: Context, tree: Tree | None, flagz: Flagz | None) -> list[str]:
    """The flags of start: given after `--`, else from the running agent, else (it does not answer, or none runs) of its
    last start, else the root directory only."""
    if flagz is not None:
        return of_agent(flagz)
    if not _given_flags(context) and (known := of_last_start(context)):
        return known
    return [f"--root-dir={context.arguments.root_dir}", *_given_flags(context)]


def _start_words(context: Context) -> str:
    """The flags of `supervise start`: given after `--`, else those of its last start."""
    if not (given := _given_flags(context)):
        return context.start_words()
    root_dir = context.arguments.root_dir
    named = root_dir == DEFAULT_ROOT_DIR or any(word.startswith("--root-dir") for word in given)
    return shlex.join(given if named else [*given, "--root-dir", root_dir])


def _run_checks(subject: str, checks: Iterator[Iterator[Finding]]) -> Iterator[Finding]:
    while True:
        try:
            check = next(checks, None)
        except Exception as error:  # noqa: BLE001 - it is reported, and ends this group of checks only
            yield unknown(subject, f"the check failed: {type(error).__name__}: {error_text(error)}")
            return
        if check is None:
            return
        yield from _run_check(subject, lambda check=check: check)  # type: ignore[misc]


def _run_check(subject: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Run a check so that its exception does not stop the other checks."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - any error becomes a finding
        yield unknown(subject, f"the check failed: {type(error).__name__}: {error_text(error)}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    with suppress(BrokenPipeError):  # the reader has gone: the exit code still answers
        sys.stdout.flush()
