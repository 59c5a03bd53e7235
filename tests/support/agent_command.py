"""An agent started by a command line of the test's, without a runtime unless it names one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from actors.shared.config.paths import run_dir_of
from actors.shared.config.start import refused_starts
from supervision.actor import AskError
from supervision.client import Client
from supervision.message import Message
from supervision.protocol import FORK_SERVER, ActorState, GetTree, Tree

R = TypeVar("R", bound=Message)
SOURCES = Path(__file__).parents[2]
START: tuple[str, ...] = (sys.executable, "-m", "actors.agent.command", "start")
HARMLESS: tuple[str, ...] = (
    "--fail-swap-on=false", "--fail-cgroupv1=false", "--cgroups-per-qos=false", "--enforce-node-allocatable=",
    "--oom-score-adj=0", "--set-kernel-tunables=false",
    "--make-iptables-util-chains=false",
)  # fmt: skip
"""What lets an agent run beside others on any machine, and leaves that machine as it is."""


class AgentCommand:
    """`command`: the whole of it. `root_dir`: what it says that --root-dir is."""

    def __init__(
        self, command: Sequence[str], root_dir: Path, environment: Mapping[str, str] | None = None, cwd: Path = SOURCES
    ) -> None:
        self.root_dir, self.run_dir = root_dir, Path(run_dir_of(str(root_dir)))
        self._output = root_dir.parent / f"{root_dir.name}.log"
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with self._output.open("ab") as out:
            self.process = subprocess.Popen(
                command, cwd=cwd, stdout=out, stderr=out, env={**os.environ, **(environment or {})}
            )

    def __enter__(self) -> AgentCommand:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            shutil.rmtree(self.run_dir, ignore_errors=True)
            refused_starts.forget(str(self.run_dir))

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
                raise

    @property
    def log(self) -> str:
        return self._output.read_text()

    def ask(self, message: Message, reply: type[R], name: str = FORK_SERVER, timeout: float = 5.0) -> R:
        client = Client(self.run_dir)
        try:
            return client.ask(message, reply, name=name, timeout=timeout)
        finally:
            client.close()

    def tree(self) -> dict[str, ActorState]:
        return {actor.name: actor for actor in self.ask(GetTree(), Tree).actors}

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except (AskError, OSError):
                pass
            assert self.process.poll() is None, f"it has ended: {self.log[-4000:]}"
            assert time.monotonic() < end, f"not within {seconds} s: {what}\n{self.log[-4000:]}"
            time.sleep(0.02)

    def wait_ready(self, seconds: float = 60.0) -> None:
        self.until(lambda: self.ask(GetTree(), Tree).state == "ready", "the tree is ready", seconds)

    def stop(self, seconds: float = 30.0) -> int:
        """As systemd does it; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)
