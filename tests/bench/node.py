"""A whole agent on a runtime of its own, as `supervise start` runs it, and what is asked of it from outside."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from actors.shared.config.paths import default_policy_file, run_dir_of
from actors.shared.linux.cgroup_tree import find
from actors.shared.linux.parent_death import ends_with_parent
from supervision.client import Client
from supervision.errors import AskError
from supervision.protocol import ActorState, GetMetrics, GetTree, MetricsSnapshot, Tree
from tests.support.fork_server_process import ROOT_DIR
from tests.support.remains import take_away
from tests.support.runtime import RealRuntime
from tests.support.tcp_ports import free_port

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 2.0
TREE_SECONDS: Final = 10.0
"""A fork server that forks on a busy machine answers late."""
POLL_SECONDS: Final = 0.004


MARK = "TROUPELET_TEST_NODE"
"""Variable in the environment of each process of an agent under test: its directory. Titles hide command lines."""


def agent_processes(home: Path) -> list[int]:
    """Pids of what runs for the agent in that directory, zombies not counted. Without the programs that it runs: those,
    and the shims that they leave, have its environment too."""
    mark, found, python = f"{MARK}={home}\0".encode(), [], os.path.realpath(sys.executable)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in entry.joinpath("environ").read_bytes() and os.path.realpath(entry / "exe") == python:
                    found.append(int(entry.name))
    return found


class NotInTime(Exception):
    """What was waited for did not come; the text says what."""


class Node:
    """The agent, started and stopped as often as one likes; its pods outlive it."""

    def __init__(self, runtime: RealRuntime, name: str = "agent") -> None:
        """`name`: of its directory below the runtime's, when there is more than one."""
        self.runtime, self.home = runtime, runtime.base / name
        self.manifests, self.log = self.home / "manifests", self.home / "log"
        self.sources = Path(ROOT_DIR)
        """Those that the next start runs."""
        self.healthz_port, self.port = free_port(), free_port()
        self.cgroup = f"{runtime.cgroup_parent}/kubepods"
        self._process: subprocess.Popen[bytes] | None = None
        self.exit_code: int | None = None
        self.manifests.mkdir(parents=True)
        Path(self.home, "config.json").write_text(json.dumps(self._configuration()))
        Path(self.home, "policy.yaml").write_text(_lenient(Path(default_policy_file()).read_text()))

    def _configuration(self) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "staticPodPath": str(self.manifests),
            "podLogsDir": str(self.home / "logs"),
            "cgroupRoot": self.runtime.cgroup_parent,
            "containerRuntimeEndpoint": self.runtime.configured_endpoint,
            "failCgroupV1": False,
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "maxPods": 250,
            "healthzPort": self.healthz_port,
            "port": self.port,
        }

    def _flags(self) -> list[str]:
        files = [f"--root-dir={self.home}/root", f"--config={self.home}/config.json"]
        others = ["--hostname-override=bench", "--set-kernel-tunables=false"]
        return [*files, f"--policy={self.home}/policy.yaml", *others]

    @property
    def _program(self) -> list[str]:
        """The command `supervise`."""
        return [sys.executable, "-m", "actors.agent.command"]

    # -- its life -------------------------------------------------------------------------------------------------
    def start(self) -> float:
        """Start it; seconds until /healthz answered ok."""
        flags = self._flags()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment[MARK] = str(self.home)
        started_at = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ends_with_parent([*self._program, "start", *flags]),  # a killed test run leaves no agent
                cwd=self.sources,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._until(self.healthy, START_SECONDS, "/healthz ok")
        return time.perf_counter() - started_at

    def wait_whole(self, seconds: float = START_SECONDS) -> None:
        """Until every actor is in service."""
        self._until(lambda: self.tree(memory=False).state == "ready", seconds, "every actor in service")

    def stop(self) -> float:
        """An orderly stop, pods go on; seconds that it took."""
        process, self._process = self._process, None
        if process is None:
            return 0.0
        started_at = time.perf_counter()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.exit_code = process.returncode
        return time.perf_counter() - started_at

    def remove(self) -> None:
        """Stop it and take away all of it but its pods, which the runtime takes along."""
        self.stop()
        take_away(self.home)
        shutil.rmtree(self._run_dir, ignore_errors=True)

    @property
    def fork_server_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _run_dir(self) -> Path:
        return Path(run_dir_of(f"{self.home}/root"))

    # -- asked ----------------------------------------------------------------------------------------------------
    def healthy(self, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether /healthz says ok within that time."""
        try:
            with socket.create_connection(("127.0.0.1", self.healthz_port), timeout=seconds) as sock:
                sock.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return b" 200 " in sock.recv(4096).split(b"\r\n", 1)[0]
        except OSError:
            return False

    def serves(self) -> bool:
        """Whether the main server takes connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_SECONDS).close()
        except OSError:
            return False
        return True

    def client(self) -> Client:
        """Raises AskError while there is no agent."""
        return Client(self._run_dir)

    def tree(self, *, memory: bool = True) -> Tree:
        """Raises NotInTime."""
        try:
            client = self.client()
        except AskError as error:
            raise NotInTime(str(error)) from None
        try:
            return client.ask(GetTree(memory=memory), Tree, timeout=TREE_SECONDS)
        except AskError as error:
            raise NotInTime(str(error)) from None
        finally:
            client.close()

    def actors(self) -> dict[str, ActorState]:
        return {actor.name: actor for actor in self.tree(memory=False).actors}

    def in_service(self, client: Client, name: str, after: int) -> bool:
        """Whether an incarnation later than `after` answers, and serves if it is a server."""
        try:
            answer = client.ask(GetMetrics(), MetricsSnapshot, name=name, timeout=ANSWER_SECONDS)
        except AskError:
            return False
        if answer.incarnation <= after:
            return False
        if name == "http_servers/healthz_server":
            return self.healthy()
        return name != "http_servers/node_server" or self.serves()

    # -- pods -----------------------------------------------------------------------------------------------------
    def write(self, name: str, text: str) -> float:
        """Put a manifest in by rename; when that was, seconds since 1970."""
        new = self.manifests / f".{name}.new"
        new.write_text(text)
        at = time.time()
        new.rename(self.manifests / f"{name}.yaml")
        return at

    def withdraw(self, name: str) -> float:
        at = time.time()
        Path(self.manifests, f"{name}.yaml").unlink()
        return at

    def traces(self) -> set[str]:
        """Directories of pods: their files and their cgroups."""
        pods = Path(self.home, "root", "pods")
        found = {one.name for one in pods.iterdir()} if pods.exists() else set()
        tree = find()
        for tier in ("", "/burstable", "/besteffort"):
            found |= {name for name in tree.children(self.cgroup + tier) if name.startswith("pod")}
        return found

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def _until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.perf_counter() + seconds
        while True:
            try:
                if condition():
                    return
            except NotInTime:
                pass
            if time.perf_counter() > end or (self._process is not None and self._process.poll() is not None):
                raise NotInTime(f"not within {seconds:g} s: {what}; the agent's last words:\n{self.last_words()}")
            time.sleep(POLL_SECONDS)


def _lenient(policy: str) -> str:
    """The policy that comes with the agent, but that no supervisor gives up: everything is killed in a row."""
    shown = re.sub(r"^( *)#(?=\S)", r"\1", policy, flags=re.MULTILINE)  # its settings are commented out
    lenient, changed = re.subn(r"^( *max_restarts:) \d+$", r"\1 1000", shown, flags=re.MULTILINE)
    assert changed
    return lenient
