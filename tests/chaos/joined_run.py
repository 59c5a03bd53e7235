"""Carries a plan out on a joined agent, its API server and its runtime."""

from __future__ import annotations

import base64
import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from actors.shared.api.errors import AlreadyExists, ApiError, NotFound
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container, ContainerState
from supervision.errors import AskError
from supervision.incidents import Incident
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, PODS, Joined, condition

from .joined_plan import LASTING, SERVER_FAULTS, JoinedStep
from .told import Injected
from .wanted import CONFIG_MAP, ILL, SECRET, TALKER, Wanted, made, talker
from .watching import Watching

T = TypeVar("T")
USER = f"system:node:{NODE}"
API_SECONDS = 40.0
FAULT_SECONDS = 5.0
OBJECTS = {SECRET: "/api/v1/namespaces/default/secrets", CONFIG_MAP: "/api/v1/namespaces/default/configmaps"}


@dataclass
class Course:
    """What was done, for the judgement."""

    wanted: dict[str, Wanted] = field(default_factory=dict)
    injected: list[Injected] = field(default_factory=list)
    killed: list[float] = field(default_factory=list)
    """When the whole agent was: seconds since 1970."""
    incidents: dict[tuple[str, int, str], Incident] = field(default_factory=dict)
    word: int = 0
    """What secret and config map say."""
    unlike: list[str] = field(default_factory=list)
    """What did not hold when something was done."""
    fork_server_fds: int = 0
    fork_server_bytes: list[int] = field(default_factory=list)
    """Of the fork server that is there now, from its start on."""


class JoinedChaos:
    """One run. `history` has every step and what was seen, as JSON lines."""

    def __init__(self, joined: Joined, server: ApiProcess, history: Path, say: Callable[[str], None]) -> None:
        self.joined, self.node, self.server = joined, joined.node, server
        self._history, self._say = history, say
        self.course, self.watching = Course(), Watching(joined)
        self.nodes_before = len(joined.nodes.told)
        self._execs: list[tuple[subprocess.Popen[str], str]] = []

    def run(self, steps: Iterable[JoinedStep]) -> None:
        """Until the last step is done and everything works that was injured."""
        self._write_objects("POST")
        self.joined.create(talker())
        self.joined.wait_pods_ready(TALKER, seconds=60)
        self.course.wanted[TALKER] = Wanted("calm", self.joined.pod(TALKER)["metadata"]["uid"])
        self.node.wait_whole()
        began = time.monotonic()
        with self.watching.going_on():
            for step in steps:
                time.sleep(max(0.0, began + step.at - time.monotonic()))
                self._do(step)
            self.repair()
        self._look_at_execs(wait=True)

    def repair(self) -> None:
        """The server is there, and does what it should."""
        self._up()
        self.server.no_faults()

    def note(self, what: str, data: dict[str, object]) -> None:
        with self._history.open("ab") as file:
            file.write(msgspec.json.encode({"at": time.time(), "what": what, **data}) + b"\n")

    # -- steps ------------------------------------------------------------------------------------------------------
    def _do(self, step: JoinedStep) -> None:
        self._say(str(step))
        error = ""
        try:
            getattr(self, f"_{step.kind}")(step)
        except (AskError, AssertionError, KeyError, CriError) as failure:
            error = str(failure)  # it is just being replaced: the fault missed it
        with contextlib.suppress(CriError):  # it is being started again
            if doubles := self.node.doubles():
                self.course.unlike.append(f"two running containers of one name after {step}: {doubles}")
        self._look_at_fork_server()
        self._look_at_execs()
        for one in self.node.incidents():
            self.course.incidents[one.actor, one.pid, one.time] = one
        self.note("step", {"step": msgspec.structs.asdict(step), "error": error})

    def _fault(self, step: JoinedStep) -> None:
        assert step.fault is not None
        actor = self.node.actors()[step.name]
        assert actor.pid, f"{step.name} is just being replaced"
        now = time.time()
        self.node.inject(step.name, step.fault, seconds=FAULT_SECONDS if step.fault in ("slow", "drop", "leak") else 0)
        self.course.injected.append(Injected(now, step.name, actor.pid, step.fault))

    def _fork_server(self, step: JoinedStep) -> None:
        self.course.killed.append(time.time())
        self.course.fork_server_bytes.clear()
        self._pardon_unready()
        self.node.kill_fork_server()
        self.node.start()

    def _runtime(self, step: JoinedStep) -> None:
        self._pardon_unready()
        self.node.runtime.restart()

    def _pardon_unready(self) -> None:
        """What is being started when the runtime or the agent is killed may have to be started again."""
        for name, one in self.course.wanted.items():
            one.ends += condition(self.joined.pod(name), "Ready").get("status") != "True"

    # -- the server -------------------------------------------------------------------------------------------------
    def _server(self, step: JoinedStep) -> None:
        for order in SERVER_FAULTS[step.name]:
            with contextlib.suppress(OSError):
                self.server.fault(user=USER, **order)  # type: ignore[arg-type]
        if step.name == "connections dropped":
            self.server.drop_connections()
        elif step.name == "history forgotten":
            self.server.order("POST", "compact")
            self.server.order("POST", "end-watches")

    def _down(self, step: JoinedStep) -> None:
        self.watching.away = True
        self.server.signal(signal.SIGKILL if step.name == "killed" else signal.SIGSTOP)

    def _up(self, step: JoinedStep | None = None) -> None:
        if self.server.running:
            self.server.signal(signal.SIGCONT)
        else:
            self.server.start()
        self.watching.away = False

    # -- pods -------------------------------------------------------------------------------------------------------
    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """Again when the connection was cut. None when it is not there, or is there already."""
        end = time.monotonic() + API_SECONDS
        while True:
            try:
                return self.joined.api.call(method, path, body, content_type)
            except (NotFound, AlreadyExists):
                return None
            except (ApiError, TimeoutError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _create(self, step: JoinedStep) -> None:
        assert step.sort is not None
        whole = made(step.name, step.sort)
        whole["spec"]["nodeName"] = NODE
        self.ask("POST", PODS, whole)
        uid = self.ask("GET", f"{PODS}/{step.name}")["metadata"]["uid"]
        self.course.wanted[step.name] = Wanted(step.sort, uid)

    def _delete(self, step: JoinedStep) -> None:
        gone = self.course.wanted.pop(step.name)
        if step.grace == 0 or gone.sort not in LASTING:
            self.watching.hasty.add(gone.uid)
        body = {} if step.grace is None else {"gracePeriodSeconds": step.grace}
        self.ask("DELETE", f"{PODS}/{step.name}", body)

    def _label(self, step: JoinedStep) -> None:
        turn = str(int(step.at * 1000))
        patch = {"metadata": {"labels": {"turn": turn}}}
        self.ask("PATCH", f"{PODS}/{step.name}", patch, "application/merge-patch+json")
        self.course.wanted[step.name].label = turn

    def _secret(self, step: JoinedStep) -> None:
        self.course.word += 1
        self._write_objects("PATCH")

    def _write_objects(self, method: str) -> None:
        word = str(self.course.word)
        for name, path in OBJECTS.items():
            data = base64.b64encode(word.encode()).decode() if name == SECRET else word
            whole = {"metadata": {"name": name}, "data": {"word": data}}
            if method == "POST":
                self.ask("POST", path, whole)
            else:
                self.ask("PATCH", f"{path}/{name}", whole, "application/merge-patch+json")

    # -- containers -------------------------------------------------------------------------------------------------
    def running(self, name: str) -> Container | None:
        uid = self.course.wanted[name].uid
        found = (one for one in self.node.containers() if one.pod_uid == uid)
        return next((one for one in found if one.state is ContainerState.RUNNING), None)

    def _kill(self, step: JoinedStep) -> None:
        if found := self.running(step.name):
            self.course.wanted[step.name].ends += 1
            self.node.ask_runtime(lambda client: client.stop_container(found.id, 0))

    def _toggle(self, step: JoinedStep) -> None:
        """Make it ill, or well again."""
        if found := self.running(step.name):
            command = ["sh", "-c", f"if test -e {ILL}; then rm {ILL}; else touch {ILL}; fi"]
            self.node.ask_runtime(lambda client: client.exec_sync(found.id, command, 15))

    def _exec(self, step: JoinedStep) -> None:
        """What it prints is looked at when it has ended."""
        word = f"said at {step.at}"
        self._execs.append((self.exec(step.name, word), word))

    def exec(self, pod: str, word: str) -> subprocess.Popen[str]:
        kubeconfig = f"--kubeconfig={self.joined.cluster.admin}"
        command = ["timeout", "30", "kubectl", kubeconfig, "exec", pod, "--", "echo", word]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def _look_at_execs(self, *, wait: bool = False) -> None:
        for process, word in list(self._execs):
            if not wait and process.poll() is None:
                continue
            said = process.communicate()[0]
            if process.returncode == 0 and said.strip() != word:
                self.course.unlike.append(f"exec ended well and printed {said!r}, not {word!r}")
            self._execs.remove((process, word))

    def _look_at_fork_server(self) -> None:
        fork_server = psutil.Process(self.node.fork_server_pid)
        self.course.fork_server_fds = max(self.course.fork_server_fds, fork_server.num_fds())
        self.course.fork_server_bytes.append(fork_server.memory_info().rss)
