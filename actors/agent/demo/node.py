"""The demo's node: starts, watches and stops it, and removes everything that it leaves on the host."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from actors.container_runtime.host import look
from actors.shared.config.agent import Agent
from actors.shared.config.loading import load
from actors.shared.config.paths import run_dir_of, state_dir_of
from actors.shared.linux.path_owners import foreign_part
from actors.status_manager.messages import STATUS_MANAGER, GetPods, Pods, every_page
from supervision.cli.typed_commands import DEFAULT_ROOT_DIR, as_root
from supervision.client import Client
from supervision.errors import AskError
from supervision.fork_server.lock import holder_of

from .host_leftovers import remove_traces
from .layout import MANAGED, NODE_PORT, POD, DemoLayout, configuration, flags, rendered

ANSWER_SECONDS: Final = 5.0
STOP_SECONDS: Final = 60.0


class DemoRefused(Exception):
    """The demo cannot start; the text has advice."""


class DemoNode:
    """A node in one root directory. Call `start` first."""

    def __init__(self, layout: DemoLayout, endpoint: str, sample: Path) -> None:
        self.layout, self._endpoint, self._sample = layout, endpoint, sample
        self.agent: Agent | None = None
        self.process: subprocess.Popen[bytes] | None = None

    # -- before ---------------------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raises DemoRefused, RuntimeSetupError if it cannot start here."""
        if os.geteuid() != 0:
            raise DemoRefused(f"the demo needs root: try `{as_root(DEFAULT_ROOT_DIR)}`")
        if self._endpoint == MANAGED:
            look(self.layout.root)
        _refuse_running(self.layout.root)
        if reason := foreign_part(self.layout.root):
            raise DemoRefused(f"{reason}, so that others can change the demo's files: give another --root-dir")
        root = Path(self.layout.root)
        if root.exists() and any(root.iterdir()) and not Path(self.layout.mark).exists():
            raise DemoRefused(
                f"{root} holds something that is not the demo's: give another --root-dir (make: ROOT_DIR=)"
            )

    def start(self) -> None:
        """Make the directory and start the agent. Raises DemoRefused, ConfigErrors, OSError."""
        layout = self.layout
        self._make()
        self.agent = load(flags(layout))
        if Path(layout.agent_log).exists():
            self._start_again()
        shutil.copy(self._sample, layout.manifest)
        with open(layout.agent_log, "ab") as log:
            self.process = subprocess.Popen(
                supervise("start", *flags(layout)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # only the demo gets Ctrl-C, and stops the agent in order
            )

    def _make(self) -> None:
        layout = self.layout
        for directory in (layout.root, layout.manifests, layout.pod_logs):
            os.makedirs(directory, mode=0o750, exist_ok=True)
        Path(layout.mark).touch()
        Path(layout.config).write_text(rendered(configuration(layout, self._endpoint, _is_free, _any_port)))

    def _start_again(self) -> None:
        """Clean up after a demo that was killed."""
        if left := self.remove():
            raise DemoRefused(f"the files of an earlier demo cannot be removed: {', '.join(left)}")
        self._make()

    # -- while it runs ----------------------------------------------------------------------------------------------
    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def ended_in_order(self) -> bool:
        """Whether somebody else has stopped the agent, and it has ended as it should."""
        return self.process is not None and self.process.poll() == 0

    def phases(self) -> dict[str, str] | None:
        """The phase of each pod by name; None while the agent does not answer."""
        pages = self._ask_pods()
        if pages is None:
            return None
        pods = [pod for page in pages for pod in msgspec.json.decode(page.data, type=_PodList).items]
        return {pod.metadata.name: pod.status.phase for pod in pods}

    def container_log(self) -> Path | None:
        """The newest log of the sample's container."""
        found = Path(self.layout.pod_logs).glob(f"default_{POD}_*/*/*.log")
        return max(found, key=_changed_at, default=None)

    def moved_ports(self) -> str:
        """The message if the standard ports are in use."""
        config = self.agent.config if self.agent else None
        if config is None or config.port == NODE_PORT:
            return ""
        return f"ports of another agent were met: this one serves on {config.port} and {config.healthzPort}"

    def log_end(self, lines: int = 15) -> str:
        try:
            return "\n".join(Path(self.layout.agent_log).read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    # -- after ------------------------------------------------------------------------------------------------------
    def retire_pod(self) -> None:
        Path(self.layout.manifest).unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the agent; its pods keep running."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def remove(self) -> list[str]:
        """Remove everything that is left. Returns what could not be removed."""
        return remove_traces(self.layout, self.agent) if self.agent is not None else []

    # -- questions --------------------------------------------------------------------------------------------------
    def _ask_pods(self) -> list[Pods] | None:
        try:
            client = self._client()
            return every_page(
                lambda after: client.ask(GetPods(after), Pods, name=STATUS_MANAGER, timeout=ANSWER_SECONDS)
            )
        except (AskError, OSError):
            return None

    def _client(self) -> Client:
        if self.agent is None:
            raise AskError("not started")
        return Client(Path(self.agent.run_dir))


class _Metadata(msgspec.Struct):
    name: str


class _Status(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


class _PodList(msgspec.Struct):
    items: list[_Pod] = []


def _refuse_running(root: str) -> None:
    """Raises DemoRefused while an agent holds the directory, before anything there is written: it reads its files again
    when they change."""
    for directory in (state_dir_of(root), run_dir_of(root)):
        if holder_of(Path(directory)):
            stop = shlex.join([*supervise("stop"), f"--root-dir={root}"])
            raise DemoRefused(f"an agent runs in {root} already; stop it with: {stop}")


def supervise(*words: str) -> list[str]:
    """The `supervise` command of this environment."""
    script = Path(sys.executable).with_name("supervise")
    return [str(script) if script.exists() else "supervise", *words]


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # removed since it was found
        return 0.0


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("", port))
        except OSError:
            return False
        return True


def _any_port() -> int:
    with socket.socket() as sock:
        sock.bind(("", 0))
        return int(sock.getsockname()[1])
