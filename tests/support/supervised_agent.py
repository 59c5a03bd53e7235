"""Starts the tree of `supervised.py` with a policy of the test's, and looks at what it leaves on disk."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from supervision.incidents.incident import GetUnwrittenIncidents, Incident, UnwrittenIncidents, read
from supervision.protocol import Done, Fault, Inject
from supervision.spec import walk
from tests.support.fork_server_process import ROOT_DIR, ForkServerProcess, fork_server_running
from tests.support.sample_tree import APPLICATION, tree


class Agent:
    """One agent that runs, and its files."""

    def __init__(self, home: Path, fork_server: ForkServerProcess) -> None:
        self.home, self.fork_server = home, fork_server

    def incidents(self) -> list[Incident]:
        """The records of the file, once a fork server that runs has written all that it can: it asks a disposable
        process for the disk first."""
        if self.fork_server.process.poll() is None:
            self.fork_server.wait(self._has_written, "the incidents are written")
        return read(self.home / "incidents.jsonl").incidents

    def _has_written(self) -> bool:
        try:
            waiting = self.fork_server.ask(GetUnwrittenIncidents(), UnwrittenIncidents)
        except OSError:
            return True  # it is ending
        return not waiting.incidents or bool(waiting.error)

    def causes(self) -> list[tuple[str, str]]:
        return [(incident.actor, incident.cause) for incident in self.incidents()]

    def notes(self) -> list[tuple[str, str]]:
        """(start or stop, name), in the order they happened."""
        return [(what, name) for _, what, name in self._notes()]

    def recorded(self, name: str) -> str:
        """The key of the work that the actor has in hand; '' for none."""
        content = (self.home / "quarantine" / name / "current").read_bytes()
        return content[20 : 8 + int.from_bytes(content[:4], "big")].decode()

    def started_at(self, name: str) -> list[float]:
        """CLOCK_MONOTONIC of each start of the actor."""
        return [float(when) for when, what, noted in self._notes() if (what, noted) == ("start", name)]

    def _notes(self) -> list[list[str]]:
        path = self.home / "notes"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def pids(self) -> dict[str, int]:
        return {name: actor.pid for name, actor in self.fork_server.tree().items()}

    def inject(self, name: str, fault: Fault, **options: Any) -> None:
        done = self.fork_server.ask(Inject(name=name, fault=fault, **options), Done)
        assert done.error == ""

    def crash(self, name: str, incarnation: int) -> float:
        """Kill that incarnation once it is in service; when that was."""
        self.fork_server.wait_running(name, incarnation=incarnation)
        when = time.monotonic()
        self.fork_server.kill(name)
        return when

    def supervise(self, *arguments: str, timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        """Run a subcommand against it."""
        return supervise(*arguments, "--root-dir", str(self.home), timeout=timeout)


def supervise(*arguments: str, timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.supervise_command", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT_DIR, check=False)


@contextlib.contextmanager
def agent(
    home: Path,
    actors: dict[str, dict[str, Any]] | None = None,
    *,
    defaults: dict[str, Any] | None = None,
    extra: str = "",
    ready: bool = True,
) -> Iterator[Agent]:
    """`actors` and `defaults`: those sections of the policy file. `extra`: those of `late`, `deaf`, `clumsy` that are
    in the tree."""
    home.mkdir(exist_ok=True)
    (home / "policy.yaml").write_text(json.dumps({"version": 1, "defaults": defaults or {}, "actors": actors or {}}))
    (home / "with").write_text(extra)
    with fork_server_running(APPLICATION, home / "run", ready=ready) as fork_server:
        if ready:
            # a tree is ready without those that are not permanent
            fork_server.wait_running(*(name for name, _, _ in walk(tree(extra))))
        yield Agent(home, fork_server)
