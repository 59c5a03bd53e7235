"""A fork server that the system gives nothing to: it goes on, and is whole again when there is enough."""

import contextlib
import os
import resource
import signal
from pathlib import Path

import psutil
import pytest

from supervision.actor import AskError
from supervision.client import Client
from supervision.process.descriptors import PATIENCE_SECONDS
from supervision.protocol import GetTree, Tree
from supervision.time_scale import scaled
from tests.support.fork_server_process import WAIT_SECONDS, ForkServerProcess, fork_server_running
from tests.support.incident_file import incidents
from tests.support.tree_actors import HERE, Dispose, Said, Say

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"


def test_a_fork_server_without_descriptors_continues_and_recovers_when_some_are_free(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.wait(lambda: _janitor(fork_server) != 0, "the janitor has its name")
        janitor = _janitor(fork_server)
        fork_server.wait(lambda: _connections(fork_server) == 0, "no descriptor is about to become free")
        limit = _take_descriptors(fork_server.process.pid)
        assert fork_server.ask(Dispose("nap"), Said, "echo").text.startswith("error OSError 24"), (
            "told to who ordered it"
        )
        client = Client(fork_server.run_dir)
        with pytest.raises(AskError):
            client.ask(GetTree(), Tree, timeout=1.5)
        os.kill(janitor, signal.SIGKILL)
        fork_server.wait(lambda: "no janitor: " in fork_server.log.read_text(), "the janitor cannot be replaced yet")
        assert fork_server.log.read_text().count("cannot accept a connection") < 20, "it waits between its trials"
        psutil.Process(fork_server.process.pid).rlimit(resource.RLIMIT_NOFILE, limit)
        client.close()
        assert fork_server.ask(Dispose("nap"), Said, "echo").text == "'slept'"
        fork_server.wait(lambda: _janitor(fork_server) not in (0, janitor), "another janitor")
        assert fork_server.ask(Say("hi"), Said, "echo").text == "hi"
        assert fork_server.tree()["echo"].restarts == 0


def test_a_socket_that_is_removed_while_no_descriptor_is_free_is_made_again_when_some_are(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.wait(lambda: _connections(fork_server) == 0, "no descriptor is about to become free")
        limit = _take_descriptors(fork_server.process.pid)
        names = tmp_path / "run" / "names"
        for file in ("fork_server", "fork_server#0"):
            (names / file).unlink()
        fork_server.wait(lambda: "cannot check the sockets" in fork_server.log.read_text(), "it has tried")
        psutil.Process(fork_server.process.pid).rlimit(resource.RLIMIT_NOFILE, limit)
        fork_server.wait(lambda: fork_server.tree()["echo"].state == "running", "it listens again")
        assert fork_server.tree()["echo"].restarts == 0


def test_an_actor_without_descriptors_reports_it_once_a_second_and_serves_when_some_are_free(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid = fork_server.pid("echo")
        limit = _take_descriptors(pid)
        clients = [Client(fork_server.run_dir) for _ in range(3)]
        for client in clients:
            with pytest.raises(AskError):
                client.ask(Say("hi"), Said, name="echo", timeout=0.5)
        assert 1 <= fork_server.log.read_text().count("out of system resource") < 20
        psutil.Process(pid).rlimit(resource.RLIMIT_NOFILE, limit)
        for client in clients:
            client.close()
        assert fork_server.ask(Say("hi"), Said, "echo").pid == pid


def test_an_actor_without_descriptors_for_long_is_replaced_and_its_incident_names_the_cause(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        _take_descriptors(fork_server.pid("echo"))
        fork_server.wait_running("echo", incarnation=2, timeout=scaled(PATIENCE_SECONDS) + WAIT_SECONDS)
        assert fork_server.ask(Say("hi"), Said, "echo").text == "hi"
    ((name, cause, text),) = [(one["name"], one["cause"], one["detail"]) for one in incidents(tmp_path / "incidents")]
    assert (name, cause) == ("echo", "exception")
    assert "file descriptors have been free for " in text


def _take_descriptors(pid: int) -> tuple[int, int]:
    """Let the process open no more: the limit is on the number that a new one would get. The limit of before."""
    process, used = psutil.Process(pid), {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    before = process.rlimit(resource.RLIMIT_NOFILE)
    lowest_free = min(set(range(len(used) + 1)) - used)
    process.rlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    return before


def _connections(fork_server: ForkServerProcess) -> int:
    """How many the fork server has accepted and not closed yet: each has the path of its listener."""
    return sum(bool(one.laddr) for one in psutil.Process(fork_server.process.pid).net_connections("unix")) - 1


def _janitor(fork_server: ForkServerProcess) -> int:
    for child in psutil.Process(fork_server.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "janitor":
                return child.pid
    return 0
