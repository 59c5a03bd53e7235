"""Commands in a text begin with what the reader must type; the agent that holds a lock is found."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import Context
from supervision.cli.typed_commands import as_typed
from supervision.fork_server.lock import Lock

TEXT = "there is no actor web: see `supervise tree`; the supervise command"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that was called, with a space in its path."""
    path = tmp_path / "my env" / "supervise"
    path.parent.mkdir()
    path.touch(0o755)
    monkeypatch.setattr("sys.argv", [str(path), "tree"])
    return path


def test_a_script_that_the_shell_does_not_find_is_named_by_its_path(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    assert as_typed(TEXT) == f"there is no actor web: see `'{script}' tree`; the supervise command"


def test_a_script_that_the_shell_finds_is_named_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert as_typed(TEXT) == TEXT


def test_another_program_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubelet"])
    assert as_typed(TEXT) == TEXT


def test_an_agent_that_does_not_answer_is_found_by_its_lock_beside_the_name_of_a_janitor(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    lock.name_janitor(12345)
    context = Context(argparse.Namespace(output="text"), lambda _: AgentFiles(tmp_path, tmp_path / "incidents"))
    assert context.fork_server_pid() == os.getpid()
    lock.release()
    assert context.fork_server_pid() == 0
