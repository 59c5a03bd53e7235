"""`supervise top` on a terminal: keys, a kill after a question, and the terminal as it was afterwards."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.fork_server_process import ROOT_DIR
from tests.support.supervised_agent import Agent, agent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tree
SECONDS = 20.0
FRAME = re.compile(r"\x1b\[H(.*?)\x1b\[J", re.DOTALL)


class Terminal:
    """A terminal of a given size with `supervise top` on it."""

    def __init__(self, home: Path, width: int, height: int, **environment: str) -> None:
        self._main, self._far = pty.openpty()
        fcntl.ioctl(self._far, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(self._far)
        command = [sys.executable, "-m", "tests.support.supervise_command", "top", "--root-dir", str(home), "-d", "0.3"]
        variables = {**os.environ, "TERM": "xterm-256color", **environment}
        variables.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            command, cwd=ROOT_DIR, stdin=self._far, stdout=self._far, stderr=subprocess.PIPE, env=variables
        )
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def frame(self) -> list[str]:
        """The lines of the last whole frame, without colours."""
        while select.select([self._main], [], [], 0.05)[0]:
            self.text += os.read(self._main, 65536).decode()
        found = FRAME.findall(self.text)
        return [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in found[-1].split("\r\n")] if found else []

    def wait(self, wanted: str) -> list[str]:
        wait_for(lambda: any(wanted in line for line in self.frame()), SECONDS)
        return self.frame()

    def settings(self) -> list[object]:
        return termios.tcgetattr(self._far)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._main)
        os.close(self._far)


@contextmanager
def terminal(running: Agent, width: int = 120, height: int = 40, **environment: str) -> Iterator[Terminal]:
    made = Terminal(running.home, width, height, **environment)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Agent]:
    with agent(tmp_path) as found:
        yield found


def test_an_actor_is_killed_after_a_confirmation_and_the_terminal_is_restored(running: Agent) -> None:
    pid = running.pids()["a"]
    with terminal(running) as screen:
        first = screen.wait("actors in service")
        assert re.search(r"\d+\.\d", " ".join(first)), "figures from the first frame"
        assert "\x1b[32m" in screen.text, "rich is here: who is well is green"
        screen.type("/")
        screen.wait("show names with: _")
        screen.type("a\r")
        screen.wait("names with a only")
        screen.type("jkK")
        screen.wait("kill a?")
        screen.type("n")
        screen.wait("q quit")
        assert running.pids()["a"] == pid, "it was not confirmed"
        screen.type("K")
        screen.wait("kill a?")
        screen.type("y")
        screen.wait("crash injected into a")
        wait_for(lambda: running.pids().get("a", pid) not in (0, pid), SECONDS)
        screen.type("q")
        assert screen.process.wait(SECONDS) == 0
        assert screen.settings() == screen.before
        screen.frame()
        assert screen.text.endswith("\x1b[?25h\x1b[?1049l"), "cursor and page are back"
        assert screen.process.stderr is not None
        assert screen.process.stderr.read() == b""


@pytest.mark.parametrize(("width", "height"), [(20, 5), (1, 1), (40, 2)])
def test_a_small_terminal_is_enough(running: Agent, width: int, height: int) -> None:
    with terminal(running, width, height) as screen:
        wait_for(lambda: len(screen.frame()) > 0, SECONDS)
        assert len(screen.frame()) <= height
        assert [line for line in screen.frame() if len(line) > width] == []
        screen.type("jjq")
        assert screen.process.wait(SECONDS) == 0


def test_top_stays_while_the_agent_ends(running: Agent) -> None:
    with terminal(running, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0") as screen:
        screen.wait("actors in service")
        assert screen.text.isascii()
        assert running.supervise("stop").returncode == 0
        lines = screen.wait("no agent is running")
        assert lines[0].startswith("no answer; "), "what is shown is what was"
        screen.type("q")
        assert screen.process.wait(SECONDS) == 0


def test_ctrl_c_leaves_the_terminal_as_it_was(running: Agent) -> None:
    with terminal(running) as screen:
        screen.wait("actors in service")
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(SECONDS) == 130
        assert screen.settings() == screen.before


def test_a_dumb_terminal_gets_lines_only(running: Agent) -> None:
    with terminal(running, TERM="dumb") as screen:
        wait_for(lambda: screen.frame() == [] and screen.text.count("actors in service") > 1, SECONDS)
        assert "\x1b" not in screen.text
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(SECONDS) == 130
