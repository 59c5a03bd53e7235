"""`supervise run-once`: starts the static pods, prints the outcome of each, and ends; the pods keep running.

The agent runs meanwhile, like `supervise start` with the same flags but without its servers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from actors.pod_config.messages import POD_CONFIG, GetSources, PodSources
from actors.shared.config.agent import Agent
from actors.shared.config.commands import take_form, take_option
from actors.shared.config.errors import ConfigErrors, ConfigProblem, UsageErrors
from actors.shared.config.flags.run_once import RUN_ONCE_FLAGS
from actors.shared.config.loading import load
from actors.shared.config.url_passwords import without_passwords
from actors.shared.kube.pod import ContainerStatus, Pod
from actors.shared.linux.directories import nearest_directory
from actors.shared.linux.parent_death import ends_with_parent
from actors.status_manager.messages import STATUS_MANAGER, GetPods, Pods, every_page
from supervision.cli.command import REFUSED, USAGE
from supervision.cli.document import document_text
from supervision.cli.text import folded, plain, terminal_columns
from supervision.cli.typed_commands import as_root, as_typed
from supervision.client import Client
from supervision.errors import AskError
from supervision.fork_server.lock import holder_of
from supervision.own_code import own_code

TIMEOUT_SECONDS: Final = 300.0
POLL_SECONDS: Final = 0.1
STOP_SECONDS: Final = 60.0
PERMANENT: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""Waiting reasons that only a change of the pod can end."""
_MAIN: Final = "from actors.agent.command import main; sys.exit(main())"
ABOUT: Final = """\
Usage: supervise run-once [--timeout=SECONDS] [-o json|yaml] [flags of start]

Starts the static pods of staticPodPath and staticPodURL, prints what became of
each, and ends. The pods go on.

Examples:

    supervise run-once --config=etc/kubelet-config.yaml --timeout=60
    supervise run-once --pod-manifest-path=etc/pods -o json

Exit codes:

    0  every pod was started
    1  one was not (within 300 s, or --timeout), a manifest or the configuration
       is wrong, or the agent failed
    2  the command line is wrong
    4  the root directory is another user's
"""


class RunPodResult(msgspec.Struct, frozen=True):
    """The outcome of one pod, or an error of a manifest (`refused`: `pod` then has file, field and rule)."""

    pod: str
    outcome: Literal["started", "waiting", "failed", "refused"]
    detail: str = ""


def outcome_of(pod: Pod) -> RunPodResult:
    """A pod counts as started if all its containers run or have succeeded. Pure."""
    name, status = f"{pod.metadata.namespace}/{pod.metadata.name}", pod.status
    if status.phase == "Succeeded":
        return RunPodResult(name, "started", "ended well")
    if status.phase == "Failed":
        return RunPodResult(name, "failed", ": ".join(filter(None, (status.reason, status.message))) or _ends(pod))
    states = [(one.name, one.state.waiting) for one in (*status.initContainerStatuses, *status.containerStatuses)]
    permanent = [f"{which}: {why.reason}: {why.message}" for which, why in states if why and why.reason in PERMANENT]
    if permanent:
        return RunPodResult(name, "failed", "; ".join(permanent))
    started = [_has_started(one) for one in status.containerStatuses]
    if status.phase == "Running" and len(started) == len(pod.spec.containers) and all(started):
        return RunPodResult(name, "started")
    waiting = [f"{which}: {why.reason}" for which, why in states if why and why.reason]
    return RunPodResult(name, "waiting", "; ".join(waiting) or status.reason or status.phase or "not checked yet")


def _has_started(one: ContainerStatus) -> bool:
    ended = one.state.terminated
    return one.state.running is not None or (ended is not None and ended.exitCode == 0)


def _ends(pod: Pod) -> str:
    status = pod.status
    ended = [(one.name, one.state.terminated) for one in (*status.initContainerStatuses, *status.containerStatuses)]
    return "; ".join(f"{name}: exit code {end.exitCode}" for name, end in ended if end and end.exitCode)


def run(words: Sequence[str]) -> int:
    """The exit code."""
    if {"-h", "--help"} & set(words):
        sys.stdout.write(folded(ABOUT, terminal_columns(sys.stdout)))
        return 0
    try:
        seconds, form, flags = _options(words)
        agent = _agent_of(flags)
    except ConfigErrors as error:
        sys.stderr.write("".join(f"error: {plain(str(problem))}\n" for problem in error.problems))
        return USAGE if isinstance(error, UsageErrors) else 1
    if refused := _not_permitted(agent.root_dir):
        sys.stderr.write(f"error: {refused}\n")
        return REFUSED
    if holder := _holder(agent.state_dir) or _holder(agent.run_dir):
        text = f"an agent with pid {holder} runs on {agent.root_dir}, and starts its static pods itself"
        text += ": `supervise pods`"
        sys.stderr.write(f"error: {as_typed(text)}\n")
        return 1
    process = _start_agent([*flags, *RUN_ONCE_FLAGS])
    try:
        outcomes, failed = _watch(agent, process, seconds)
    except KeyboardInterrupt:
        process.wait(STOP_SECONDS)  # the agent got the signal as well
        return 128 + signal.SIGINT
    finally:
        _stop(process)
    if failed and not outcomes and os.geteuid() != 0:
        text = f"an agent mostly needs root, and this one ran with uid {os.geteuid()}: try `{as_root(agent.root_dir)}`"
        sys.stderr.write(f"error: {text}\n")
    if outcomes or form:
        _show(outcomes, form)
    elif not failed:
        sys.stdout.write(f"there are no static pods: {_source_text(agent)}\n")
    return 1 if failed or any(one.outcome != "started" for one in outcomes) else 0


def _agent_of(flags: Sequence[str]) -> Agent:
    """Raises ConfigErrors; UsageErrors also for an agent that joins a cluster."""
    agent = load([*flags, "--runonce=false"])
    if not agent.standalone:
        raise UsageErrors([ConfigProblem("--kubeconfig", agent.kubeconfig, "run-once is for pods of files and URLs")])
    return agent


def _source_text(agent: Agent) -> str:
    """Where static pods would come from. Pure."""
    places = [place for place in (agent.config.staticPodPath, agent.config.staticPodURL) if place]
    return (
        f"nothing in {without_passwords(' or '.join(places))}"
        if places
        else "neither staticPodPath nor staticPodURL is set"
    )


def _not_permitted(root_dir: str) -> str:
    """Why this user may not run an agent in the root directory, with what to type; '' if that is not known."""
    place = nearest_directory(root_dir)
    if os.access(place, os.W_OK | os.X_OK):
        return ""
    return f"permission denied: {place} is another user's; try `{as_root(root_dir)}`"


def _holder(directory: str) -> int:
    """The pid of the agent that holds the directory; 0: none, or that is not known."""
    try:
        return holder_of(Path(directory))
    except OSError:
        return 0


def _options(words: Sequence[str]) -> tuple[float, str, list[str]]:
    """Timeout, the form of the document that is asked for ('' for text), and the rest. Raises UsageErrors."""
    form, rest = take_form(words)
    given, rest = take_option(rest, "--timeout")
    try:
        seconds = TIMEOUT_SECONDS if given is None else float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageErrors([ConfigProblem("--timeout", str(given), "must be a number of seconds above 0")])
    return seconds, form, rest


def _start_agent(flags: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the agent; it ends together with this process."""
    command = [*own_code(_MAIN), "start", *flags]
    return subprocess.Popen(ends_with_parent(command), stdin=subprocess.DEVNULL)


def _watch(agent: Agent, process: subprocess.Popen[bytes], seconds: float) -> tuple[list[RunPodResult], bool]:
    """Watch until every pod has started or failed. Returns the last outcomes, and whether the agent has ended."""
    outcomes: list[RunPodResult] = []
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        found = _find_outcomes(agent)
        if found is not None:
            outcomes, whole = found
            if whole and all(one.outcome != "waiting" for one in outcomes):
                return outcomes, False
        time.sleep(POLL_SECONDS)
    return outcomes, process.poll() is not None or not outcomes


def _find_outcomes(agent: Agent) -> tuple[list[RunPodResult], bool] | None:
    """The outcomes so far, and whether all pods are included; None while the agent does not answer."""
    try:
        with closing(Client(Path(agent.run_dir))) as client:
            sources = client.ask(GetSources(), PodSources, name=POD_CONFIG, timeout=2.0)
            pages = every_page(lambda after: client.ask(GetPods(after), Pods, name=STATUS_MANAGER, timeout=5.0))
    except (AskError, OSError):
        return None
    pods = [pod for page in pages for pod in msgspec.json.decode(page.data, type=_PodList).items]
    wrong = [RunPodResult(text, "refused") for source in sources.sources for text in source.errors]
    outcomes = sorted((outcome_of(pod) for pod in pods), key=lambda one: one.pod)
    whole = sources.ready and len(pods) >= sum(source.pods for source in sources.sources)
    return [*outcomes, *wrong], whole


class _PodList(msgspec.Struct):
    items: list[Pod] = []


def _stop(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _show(outcomes: Sequence[RunPodResult], form: str) -> None:
    if form:
        sys.stdout.write(document_text(outcomes, form) + "\n")
        return
    sys.stdout.write("".join(f"{plain(line)}\n" for line in text(outcomes)))


def text(outcomes: Sequence[RunPodResult]) -> Iterator[str]:
    """A line for each, and one that counts the pods. Pure."""
    counts = Counter(one.outcome for one in outcomes)
    for one in outcomes:
        detail = f" ({one.detail})" if one.detail else ""
        yield f"refused: {one.pod}" if one.outcome == "refused" else f"{one.pod}: {one.outcome}{detail}"
    wrong = counts["refused"]
    errors = f"; {wrong} error{'s' if wrong > 1 else ''} in manifests" if wrong else ""
    yield f"{counts['started']} of {counts.total() - wrong} started{errors}"
