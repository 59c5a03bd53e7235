"""Runs an application in a fork server of its own, as `supervise start` does, and asks it things."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from supervision.actor import AskError
from supervision.client import Client
from supervision.message import Message
from supervision.protocol import FORK_SERVER, ActorState, GetTree, Tree

R = TypeVar("R", bound=Message)
ROOT_DIR = Path(__file__).parents[2]
WAIT_SECONDS = 30.0
"""For a machine that is busy or slow; nobody waits for longer than it takes."""


class ForkServerProcess:
    """`application`: `module:function`, a function of the run directory that gives the Application."""

    def __init__(self, application: str, run_dir: Path, **environment: str) -> None:
        self.run_dir = run_dir
        code = (
            "import sys; from pathlib import Path; from supervision.fork_server.main import run; "
            "from supervision.class_names import load; import logging; logging.basicConfig(level=logging.INFO); "
            f"sys.exit(run(load({application!r})(Path({str(run_dir)!r}))))"
        )
        self.log = run_dir.parent / f"{run_dir.name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], cwd=ROOT_DIR, stdout=log, stderr=log, env={**os.environ, **environment}
            )

    def ask(self, message: Message, reply: type[R], name: str = FORK_SERVER, timeout: float = 5.0) -> R:
        client = Client(self.run_dir)
        try:
            return client.ask(message, reply, name=name, timeout=timeout)
        finally:
            client.close()

    def tree(self) -> dict[str, ActorState]:
        return {actor.name: actor for actor in self.ask(GetTree(), Tree).actors}

    def pid(self, name: str) -> int:
        return self.tree()[name].pid

    def wait(self, condition: Callable[[], bool], what: str, timeout: float = WAIT_SECONDS) -> None:
        end = time.monotonic() + timeout
        while True:
            with contextlib.suppress(AskError, KeyError):
                if condition():
                    return
            if time.monotonic() > end:
                raise AssertionError(f"not within {timeout} s: {what}\n{self.log.read_text()[-4000:]}")
            time.sleep(0.005)

    def wait_running(self, *names: str, incarnation: int = 1, timeout: float = WAIT_SECONDS) -> None:
        def running() -> bool:
            tree = self.tree()
            return all(tree[n].state == "running" and tree[n].incarnation >= incarnation for n in names)

        self.wait(running, f"{names} running as incarnation {incarnation}", timeout)

    def wait_ready(self, timeout: float = WAIT_SECONDS) -> None:
        self.wait(lambda: self.ask(GetTree(), Tree).state == "ready", "the tree is ready", timeout)

    def wait_end(self, timeout: float = WAIT_SECONDS) -> int:
        return self.process.wait(timeout)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        pid = self.pid(name)
        assert pid, f"{name} has no process now"  # 0 would be those of the test
        os.kill(pid, number)

    def processes(self) -> list[int]:
        return [actor.pid for actor in self.tree().values() if actor.pid]


@contextlib.contextmanager
def fork_server_running(
    application: str, run_dir: Path, *, ready: bool = True, **environment: str
) -> Iterator[ForkServerProcess]:
    """Ends it at the end, and checks that an orderly stop leaves nothing."""
    fork_server = ForkServerProcess(application, run_dir, **environment)
    try:
        if ready:
            fork_server.wait_ready()
        yield fork_server
    finally:
        if fork_server.process.poll() is None:
            fork_server.process.send_signal(signal.SIGTERM)
            try:
                fork_server.wait_end(15)
            except subprocess.TimeoutExpired:
                fork_server.process.kill()
                fork_server.wait_end(5)
                raise
    assert not (run_dir / "names").exists()


def exists(pid: int) -> bool:
    """Whether there is a process, other than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
