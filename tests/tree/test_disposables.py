"""One function in a process of its own; programs beside the actors."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.incident_file import incidents
from tests.support.stage_process import exists, stage_running
from tests.support.tree_actors import HERE, Dispose, Said
from tests.support.waiting import in_time, seconds_of

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"


def test_the_result_and_what_was_raised_come_back(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        assert stage.ask(Dispose("nap"), Said, "echo").text == "'slept'"
        assert stage.ask(Dispose("fail"), Said, "echo").text == ("error FileNotFoundError 2 [Errno 2] no such thing")
        assert stage.ask(Dispose("die"), Said, "echo").text.startswith("error Died 0")
        assert len(stage.ask(Dispose("large"), Said, "echo", timeout=10).text) > 3_000_000
        assert stage.ask(Dispose("missing"), Said, "echo").text.startswith("error AttributeError")


def test_it_runs_in_a_child_of_the_stage_not_of_the_actor(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        pid, parent = eval(stage.ask(Dispose("pids"), Said, "echo").text)
        assert parent == stage.process.pid
        assert pid not in stage.processes()


def test_it_is_killed_at_its_deadline(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:

        def killed() -> None:
            assert stage.ask(Dispose("nap", 60, deadline=0.3), Said, "echo").text.startswith("timeout")
            assert not _naps(stage.process.pid)

        in_time(lambda: seconds_of(killed), 1.3)


def test_it_ends_with_the_actor_that_ordered_it(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        with pytest.raises(Exception, match="did not answer"):
            stage.ask(Dispose("nap", 60, deadline=60), Said, "echo", timeout=0.2)
        stage.wait(lambda: len(_naps(stage.process.pid)) == 1, "it runs")
        stage.kill("echo")
        stage.wait(lambda: not _naps(stage.process.pid), "it is gone")


def test_many_wait_for_their_turn(tmp_path: Path) -> None:
    with stage_running(SMALL, tmp_path / "run") as stage:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda _: stage.ask(Dispose("nap", 0.1), Said, "echo", timeout=20), range(40)))
        assert {answer.text for answer in answers} == {"'slept'"}


def test_a_program_is_in_service_when_its_socket_accepts_and_is_restarted_when_killed(tmp_path: Path) -> None:
    with stage_running(f"{HERE}:programs", tmp_path / "run", ready=False) as stage:
        stage.wait_running("server")
        server = stage.tree()["server"]
        assert server.kind == "program"
        assert server.memory_bytes > 0
        stage.wait(lambda: (tmp_path / "server.log").read_text() == "listening hello\n", "it says so after it listens")
        assert Path(f"/proc/{server.pid}/fd/0").readlink() == Path("/dev/null")
        fds = {os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{server.pid}/fd")}
        assert not any("memfd" in fd or "names" in fd or "lock" in fd for fd in fds)
        os.kill(server.pid, signal.SIGKILL)
        stage.wait_running("server", incarnation=2)
        causes = {(i["name"], i["cause"]) for i in incidents(tmp_path / "incidents")}
        assert causes == {("server", "signal"), ("broken", "exit")}
        broken = next(i for i in incidents(tmp_path / "incidents") if i["name"] == "broken")
        assert os.WEXITSTATUS(broken["status"]) == 127
        assert "No such file or directory: '/does/not/exist'" in str(broken["detail"])
        pid = stage.pid("server")
        stage.process.kill()
        stage.wait_end()
        stage.wait(lambda: not exists(pid), "the program ends with the stage")
        stage.wait(lambda: not (tmp_path / "run" / "names").exists(), "cleaned")


def _naps(stage: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == stage and "(disposable)" in stat and ") Z" not in stat:
                found.append(int(entry.name))
    return found
