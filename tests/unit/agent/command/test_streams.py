"""No command ends with a traceback, whatever its output is: a pipe that is closed, a full disk, an ASCII terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
COMMANDS = (
    "", "--help", "--version", "tree --help", "config --help", "config show", "config explain evictionHard",
    "completion bash", "manifest check etc/pods", "policy check", "start --help", "start --version", "run-once --help",
    "incidents", "tree", "top", "status", "doctor --all", "reset --dry-run", "pods",
)  # fmt: skip


def run(command: str, tmp_path: Path, out: int, **environment: str) -> tuple[int, str]:
    """Exit code and stderr."""
    words = [sys.executable, "-m", "actors.agent.command", *command.split()]
    variables = {**os.environ, "TROUPELET_ROOT_DIR": str(tmp_path), **environment}
    done = subprocess.run(words, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, env=variables, timeout=60, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_is_no_error(command: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        _, said = run(command, tmp_path, write)
    finally:
        os.close(write)
    assert "Traceback" not in said
    assert "Exception ignored" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_without_unicode_gets_ascii(command: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        _, said = run(command, tmp_path, file.fileno(), PYTHONIOENCODING="ascii", LC_ALL="C")
    assert "Traceback" not in said
    assert out.read_bytes().isascii()


@pytest.mark.parametrize("command", ["config show", "status --help", "", "reset --dry-run"])
def test_a_full_disk_is_reported_and_no_success(command: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        code, said = run(command, tmp_path, full.fileno())
    assert code == 1
    assert said.endswith("supervise: the output cannot be written: No space left on device\n")


def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    words = f"{sys.executable} -m actors.agent.command config explain evictionHard >&-"
    done = subprocess.run(["sh", "-c", words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
