"""Every subcommand on every terminal: narrow, without colours, ASCII only, none at all, a pipe that nobody reads."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.agent.subcommands import parser_of
from tests.support.agent_command import HARMLESS, SOURCES, START, AgentCommand
from tests.support.tcp_ports import free_port

pytestmark = pytest.mark.tree
SECONDS = 60.0
PODS = {
    "web": "{image: nginx, name: main}",
    "bad": "{imag: nginx, name: größer}",
}
COMMANDS = {
    "start": ["--help"],
    "run-once": ["--help"],
    "config": ["explain", "evictionHard"],
    "status": [],
    "tree": [],
    "stop": ["--help"],
    "top": ["-n", "1", "-d", "0.1"],
    "incidents": ["--full"],
    "logs": ["-n", "20"],
    "inject": ["pleg", "slow", "--rate=0.001", "--seconds=0.1"],
    "policy": ["show"],
    "doctor": ["--all"],
    "observe": ["--help"],
    "pods": ["-o", "wide"],
    "describe": ["pod", "web"],
    "events": [],
    "reset": ["--help"],
    "manifest": ["check", "PODS"],
    "demo": ["--help"],
    "completion": ["bash"],
    "man": ["DIRECTORY"],
}
"""Words behind each command, so that it ends by itself and writes much."""
NO_AGENT = ("start", "run-once", "config", "manifest", "demo", "completion", "man")
CODES = {"status": (1,), "doctor": (1,), "manifest": (1,)}
"""Exit codes where not 0: the node has no runtime, and a manifest is wrong."""
PLAIN = ({"NO_COLOR": "1"}, {"CLICOLOR": "0"}, {"TERM": "dumb"})
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:[349][0-7]|10[0-7]|[34]8;[\d;]+)(?:;\d+)*m")


class Node:
    def __init__(self, directory: Path) -> None:
        self.directory, self.root = directory, directory / "root"
        pods = directory / "pods"
        pods.mkdir()
        for name, container in PODS.items():
            (pods / f"{name}.yaml").write_text(
                f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{container}]}}\n"
            )
        flags = [
            f"--root-dir={self.root}", f"--pod-manifest-path={pods}", f"--port={free_port()}", "--healthz-port=0",
            "--hostname-override=n1", f"--container-runtime-endpoint=unix://{directory}/none.sock",
            f"--log-file={directory}/agent.log",
        ]  # fmt: skip
        self.agent = AgentCommand([*START, *HARMLESS, *flags], self.root)

    def words(self, command: str) -> list[str]:
        places = {"PODS": f"{self.directory}/pods", "DIRECTORY": f"{self.directory}/man"}
        rest = [places.get(word, word) for word in COMMANDS[command]]
        place = [] if command in NO_AGENT else [f"--root-dir={self.root}"]
        return [sys.executable, "-m", "actors.agent.command", command, *rest, *place]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="terminals-") as directory:
        found = Node(Path(directory))
        with found.agent as agent:
            agent.wait_ready()
            subprocess.run([*found.words("inject")[:-4], "crash", f"--root-dir={found.root}"], cwd=SOURCES, check=True)
            agent.until(lambda: agent.tree()["pleg"].restarts == 1, "an incident")
            yield found


def clean_environment(**more: str) -> dict[str, str]:
    without = ("NO_COLOR", "CLICOLOR", "COLUMNS", "LINES", "PYTHONIOENCODING", "PYTHONUTF8")
    return {**{name: value for name, value in os.environ.items() if name not in without}, **more}


def on_terminal(words: list[str], columns: int, **environment: str) -> tuple[int, str]:
    """Exit code, and what the terminal gets."""
    main, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    known = clean_environment(**{"TERM": "xterm-256color", **environment})
    process = subprocess.Popen(words, cwd=SOURCES, stdin=far, stdout=far, stderr=far, env=known)
    os.close(far)
    text, end = b"", time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            if select.select([main], [], [], 0.2)[0]:
                try:
                    text += os.read(main, 65536)
                except OSError:  # nobody has the other end any more
                    break
        return process.wait(max(0.1, end - time.monotonic())), text.decode()
    finally:
        process.kill()
        process.wait()
        os.close(main)


def test_the_table_has_every_command() -> None:
    assert set(COMMANDS) == set(parser_of([])[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_gets_the_same_answer(node: Node, command: str) -> None:
    code, text = on_terminal(node.words(command), 40)
    assert code in CODES.get(command, (0,)), text
    assert "Traceback" not in text
    assert text.strip()


@pytest.mark.parametrize("environment", PLAIN, ids=str)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_without_colours_gets_none(node: Node, command: str, environment: dict[str, str]) -> None:
    code, text = on_terminal(node.words(command), 100, **environment)
    assert code in CODES.get(command, (0,)), text
    assert "Traceback" not in text
    assert COLOUR.findall(text) == []
    if environment.get("TERM") == "dumb":
        assert "\x1b" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_terminal_and_without_utf_8_it_is_ascii(node: Node, command: str) -> None:
    environment = clean_environment(LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = subprocess.run(
        node.words(command), cwd=SOURCES, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode in CODES.get(command, (0,)), done.stderr
    assert (done.stdout + done.stderr).isascii()
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_goes_away_is_no_error(node: Node, command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            node.words(command), cwd=SOURCES, env=clean_environment(), stdout=write, stderr=subprocess.PIPE, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode in (0, *CODES.get(command, ()))
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
