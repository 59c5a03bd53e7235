"""Plain Thespian actors in a supervised tree: they are restarted, watched and stopped as ours are."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from supervision.actor import AskError
from supervision.messaging.payload import unwrap, wrap
from supervision.process_messages import Payload
from tests.support.fork_server_process import ForkServerProcess, fork_server_running
from tests.support.thespian_tree import GOODBYE

pytestmark = pytest.mark.tree
TREE = "tests.support.thespian_tree:application"


def ask(fork_server: ForkServerProcess, name: str, question: Any) -> Any:
    return unwrap(fork_server.ask(wrap(question), Payload, name))


def test_a_plain_actor_answers_and_is_restarted_when_it_is_killed(tmp_path: Path) -> None:
    with fork_server_running(TREE, tmp_path / "run") as fork_server:
        assert ask(fork_server, "echo", {"text": "hi"})["echo"] == "hi"
        fork_server.kill("echo", signal.SIGKILL)
        fork_server.wait_running("echo", incarnation=2)
        assert ask(fork_server, "echo", {"text": "again"})["echo"] == "again"


def test_an_exception_in_a_plain_actor_ends_that_actor_alone(tmp_path: Path) -> None:
    with fork_server_running(TREE, tmp_path / "run") as fork_server:
        other = fork_server.pid("echo")
        with pytest.raises(AskError):
            ask(fork_server, "group/breaking", "raise")
        fork_server.wait_running("group/breaking", incarnation=2)
        assert fork_server.pid("echo") == other
        assert "exception" in fork_server.tree()["group/breaking"].last_incident


def test_a_plain_actor_that_hangs_is_found_by_its_heartbeat(tmp_path: Path) -> None:
    with fork_server_running(TREE, tmp_path / "run") as fork_server:
        fork_server.kill("echo", signal.SIGSTOP)
        fork_server.wait_running("echo", incarnation=2, timeout=20)
        assert "hang" in fork_server.tree()["echo"].last_incident


def test_a_plain_actor_creates_a_child_and_gets_its_exit(tmp_path: Path) -> None:
    with fork_server_running(TREE, tmp_path / "run") as fork_server:
        assert ask(fork_server, "parent", "create") == ["answered", "from parent"]
        (child,) = [state for state in fork_server.tree().values() if state.parent == "parent"]
        assert child.kind == "actor"
        assert ask(fork_server, "parent", "end child") == ["exited", True]


def test_an_orderly_stop_is_an_exit_request(tmp_path: Path) -> None:
    with fork_server_running(TREE, tmp_path / "run") as fork_server:
        fork_server.wait_running("polite")
    assert (tmp_path / GOODBYE).exists()
