"""A whole agent that is injured, and what is looked at meanwhile: its containers, its health, its incidents."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState
from supervision.errors import AskError
from supervision.incidents.incident import GetUnwrittenIncidents, Incident, UnwrittenIncidents, read
from supervision.protocol import Done, Fault, Inject
from tests.bench.node import Node, NotInTime, agent_processes
from tests.bench.pods import manifest
from tests.support.runtime import RealRuntime
from tests.support.tcp_ports import free_port

T = TypeVar("T")
SECONDS = 60.0
HEARTBEAT_SECONDS, DEFAULT_HEARTBEAT = 3, 10
"""Shorter than the default, so that many hangs can be tested; the mechanism is the same."""
RUNTIME_SECONDS = 60.0
HEALTH_SECONDS = 20.0
"""An answer of /healthz that takes longer is none."""
"""So long the runtime may be away while it is started again."""
NODE_NAME = "bench"
SHUTDOWN = "1s"
"""No longer than any logind waits by itself: the configuration of this machine stays as it is."""


class FaultyNode(Node):
    """An agent on a private containerd, with a policy that never gives up and finds a hang soon."""

    def __init__(
        self,
        runtime: RealRuntime,
        name: str = "agent",
        *,
        heartbeat_seconds: int = HEARTBEAT_SECONDS,
        with_every_box: bool = False,
    ) -> None:
        """`with_every_box`: those of the tree, too, that are there under some configurations only."""
        self._boxes: dict[str, object] = (
            {"readOnlyPort": free_port(), "shutdownGracePeriod": SHUTDOWN} if with_every_box else {}
        )
        super().__init__(runtime, name)
        policy = Path(self.home, "policy.yaml")
        text, usual = policy.read_text(), f"  heartbeat_seconds: {DEFAULT_HEARTBEAT}\n"
        assert usual in text
        policy.write_text(text.replace(usual, f"  heartbeat_seconds: {heartbeat_seconds}\n"))

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """The agent runs. At the end nothing is left of its pods, and it is removed."""
        try:
            self.start()
            self.wait_whole()
            yield self
            self.withdraw_all()
        finally:
            self.remove()
            subprocess.run(["umount", "-q", f"{self.home}/root/pods"], check=False)
            shutil.rmtree(self.home)

    def withdraw_all(self) -> None:
        """Remove all manifests, and wait until nothing is left of their pods."""
        for file in self.manifests.glob("*.yaml"):
            file.unlink()
        self.until(lambda: not self.running(), "every pod gone")
        self.until(lambda: not self.traces(), "no trace of a pod")

    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), **self._boxes}

    # -- faults -----------------------------------------------------------------------------------------------------
    def inject(self, name: str, fault: Fault, **options: Any) -> None:
        client = self.client()
        try:
            done = client.ask(Inject(name=name, fault=fault, **options), Done, timeout=5.0)
        finally:
            client.close()
        assert done.error == "", done.error

    def incidents(self) -> list[Incident]:
        """The records of the file, once the fork server, if it answers, has written all that it can."""
        with suppress(AskError, OSError, NotInTime):
            self.until(self._has_written, "the incidents are written", 5.0)
        return read(Path(self.home, "root", "troupelet", "incidents.jsonl")).incidents

    def _has_written(self) -> bool:
        client = self.client()
        try:
            waiting = client.ask(GetUnwrittenIncidents(), UnwrittenIncidents, timeout=2.0)
        finally:
            client.close()
        return not waiting.incidents or bool(waiting.error)

    def incidents_of(self, name: str) -> list[Incident]:
        return [incident for incident in self.incidents() if incident.actor == name]

    def wait_replaced(self, name: str, incarnation: int, seconds: float = SECONDS) -> None:
        """Until a later incarnation answers, and everything else is in service."""
        client = self.client()
        try:
            self.until(lambda: self.in_service(client, name, incarnation), f"{name} replaced", seconds)
        finally:
            client.close()
        self.wait_whole()

    def until(self, condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
        self._until(condition, seconds, what)

    def strays(self) -> list[str]:
        """Processes of this agent that nothing of the tree accounts for: orphans, and children that nobody reaped."""
        known = {self.fork_server_pid, *(actor.pid for actor in self.actors().values())}
        found = []
        for pid in agent_processes(self.home):
            if pid not in known:
                name, parent = _name_and_parent(pid)
                if name != "janitor" or parent != self.fork_server_pid:
                    found.append(f"{pid} {name}, child of {parent}")
        return found

    def kill_fork_server(self) -> None:
        """As kill -9 of the whole agent would."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        process.wait()

    def kill_fork_server_and_start(self) -> None:
        self.kill_fork_server()
        self.start()

    def kill_workers(self) -> None:
        """Every process that drives pods."""
        self.signal_actors(lambda name: name.startswith("pod_workers/"), signal.SIGKILL)

    def kill_at_once(self, *names: str) -> None:
        """All of them before the fork server notices the first."""
        actors = self.actors()
        pids = [actors[name].pid for name in names]
        assert all(pids), "each of them has a process"
        os.kill(self.fork_server_pid, signal.SIGSTOP)
        try:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        finally:
            os.kill(self.fork_server_pid, signal.SIGCONT)

    def signal_actors(self, wanted: Callable[[str], bool], number: int) -> None:
        """Those of these names that have a process at this moment."""
        for name, actor in self.actors().items():
            if wanted(name) and actor.pid:  # 0 between two incarnations: that would be all processes of the test
                with suppress(ProcessLookupError):
                    os.kill(actor.pid, number)

    # -- containers -------------------------------------------------------------------------------------------------
    def ask_runtime(self, question: Callable[[CriClient], Awaitable[T]]) -> T:
        async def ask() -> T:
            client = CriClient(self.runtime.endpoint)
            end = time.monotonic() + RUNTIME_SECONDS
            try:
                while True:
                    try:
                        return await question(client)
                    except Unavailable:
                        if time.monotonic() > end:
                            raise
                        await asyncio.sleep(0.05)
            finally:
                await client.close()

        return asyncio.run(ask())

    def containers(self) -> list[CriContainer]:
        return self.ask_runtime(lambda client: client.list_containers())

    def running(self) -> dict[str, tuple[str, int]]:
        """(id, restart count) of the running container of each pod, by the name of its manifest."""
        return {
            container.pod_name.removesuffix(f"-{NODE_NAME}"): (container.id, container.restart_count)
            for container in self.containers()
            if container.state is CriContainerState.RUNNING
        }

    def add(self, *names: str) -> None:
        for name in names:
            self.write(name, manifest(name))

    def wait_running(self, *names: str, seconds: float = SECONDS) -> None:
        self.until(lambda: set(names) <= set(self.running()), f"running: {names}", seconds)

    def wait_gone(self, *names: str, seconds: float = SECONDS) -> None:
        """Until no container, in any state, and no sandbox of these pods is left."""

        def there() -> set[str]:
            sandboxes = self.ask_runtime(lambda client: client.list_pod_sandboxes())
            found = {box.pod_name for box in sandboxes} | {container.pod_name for container in self.containers()}
            return {name.removesuffix(f"-{NODE_NAME}") for name in found}

        self.until(lambda: not set(names) & there(), f"gone: {names}", seconds)

    def doubles(self) -> list[str]:
        """Containers of whose name another one of the same pod runs, with what tells them apart: none, ever."""
        running = [one for one in self.containers() if one.state is CriContainerState.RUNNING]
        names = Counter((one.pod_name, one.name) for one in running)
        return [
            f"{one.pod_name}/{one.name}: {one.id[:12]}, try {one.attempt} in {one.sandbox_id[:12]} at {one.created_ns}"
            for one in running
            if names[one.pod_name, one.name] > 1
        ]


def _name_and_parent(pid: int) -> tuple[str, int]:
    """From /proc; ('', 0) when it is gone."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return "", 0
    return name, int(rest.split()[1])


class HealthWatch:
    """Asks /healthz again and again. `answered` and `unanswered`: how many of the requests had an ok, and had none;
    `longest`: the longest time without an ok, in seconds."""

    def __init__(self, node: Node) -> None:
        self._node, self._stop = node, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.answered = self.unanswered = 0
        self.longest = 0.0

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._stop.is_set():
            if self._node.healthy(HEALTH_SECONDS):
                self.answered += 1
                last = time.monotonic()
            else:
                self.unanswered += 1
            self.longest = max(self.longest, time.monotonic() - last)
            time.sleep(0.01)

    @contextmanager
    def watching(self) -> Iterator[HealthWatch]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join()


__all__ = ["HEALTH_SECONDS", "FaultyNode", "HealthWatch", "NotInTime"]
