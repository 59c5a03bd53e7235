"""A stage that the system gives nothing to: it goes on, and is whole again when there is enough."""

import contextlib
import os
import resource
import signal
from pathlib import Path

import psutil
import pytest

from supervision.actor import AskError
from supervision.client import Client
from supervision.protocol import GetTree, Tree
from tests.support.stage_process import StageProcess, stage_running
from tests.support.tree_actors import HERE, Dispose, Said, Say

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"


def test_a_stage_without_descriptors_goes_on_and_is_whole_when_there_are_some(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        stage.wait(lambda: _janitor(stage) != 0, "the janitor has its name")
        janitor = _janitor(stage)
        stage.wait(lambda: _connections(stage) == 0, "no descriptor is about to become free")
        limit = _take_descriptors(stage.process.pid)
        assert stage.ask(Dispose("nap"), Said, "echo").text.startswith("error OSError 24"), "told to who ordered it"
        client = Client(stage.run_dir)
        with pytest.raises(AskError):
            client.ask(GetTree(), Tree, timeout=1.5)
        os.kill(janitor, signal.SIGKILL)
        stage.wait(lambda: "no janitor: " in stage.log.read_text(), "the janitor cannot be replaced yet")
        assert stage.log.read_text().count("no connection accepted") < 20, "it waits between its trials"
        psutil.Process(stage.process.pid).rlimit(resource.RLIMIT_NOFILE, limit)
        client.close()
        assert stage.ask(Dispose("nap"), Said, "echo").text == "'slept'"
        stage.wait(lambda: _janitor(stage) not in (0, janitor), "another janitor")
        assert stage.ask(Say("hi"), Said, "echo").text == "hi"
        assert stage.tree()["echo"].restarts == 0


def test_an_actor_without_descriptors_says_so_once_a_second_and_serves_when_there_are_some(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        pid = stage.pid("echo")
        limit = _take_descriptors(pid)
        clients = [Client(stage.run_dir) for _ in range(3)]
        for client in clients:
            with pytest.raises(AskError):
                client.ask(Say("hi"), Said, name="echo", timeout=0.5)
        assert 1 <= stage.log.read_text().count("out of system resource") < 20
        psutil.Process(pid).rlimit(resource.RLIMIT_NOFILE, limit)
        for client in clients:
            client.close()
        assert stage.ask(Say("hi"), Said, "echo").pid == pid


def _take_descriptors(pid: int) -> tuple[int, int]:
    """Let the process open no more: the limit is on the number that a new one would get. The limit of before."""
    process, used = psutil.Process(pid), {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    before = process.rlimit(resource.RLIMIT_NOFILE)
    lowest_free = min(set(range(len(used) + 1)) - used)
    process.rlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    return before


def _connections(stage: StageProcess) -> int:
    """How many the stage has accepted and not closed yet: each has the path of its listener."""
    return sum(bool(one.laddr) for one in psutil.Process(stage.process.pid).net_connections("unix")) - 1


def _janitor(stage: StageProcess) -> int:
    for child in psutil.Process(stage.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "janitor":
                return child.pid
    return 0
