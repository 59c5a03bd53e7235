"""One function in a process of its own; programs beside the actors."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervision.fork_server.early_signals import NO_ORDERS
from supervision.fork_server.signals import STOP
from tests.support.fork_server_process import exists, fork_server_running
from tests.support.incident_file import incidents
from tests.support.tree_actors import HERE, Dispose, Said, Say

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"
OF_THE_AGENT = {*NO_ORDERS, *STOP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD}


def test_results_and_exceptions_of_a_disposable_are_returned(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        assert fork_server.ask(Dispose("nap"), Said, "echo").text == "'slept'"
        assert fork_server.ask(Dispose("fail"), Said, "echo").text == ("error FileNotFoundError 2 no such thing")
        assert fork_server.ask(Dispose("die"), Said, "echo").text.startswith("error Died 0")
        assert len(fork_server.ask(Dispose("large"), Said, "echo", timeout=10).text) > 3_000_000
        assert fork_server.ask(Dispose("missing"), Said, "echo").text.startswith("error AttributeError")


def test_the_name_of_a_file_that_is_not_utf8_ends_no_disposable(tmp_path: Path) -> None:
    """A container gives its files any names, and the reason of a failure tells the file."""
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        failed = fork_server.ask(Dispose("fail_at_an_unreadable_name"), Said, "echo").text
        assert failed == "error PermissionError 1 /v/\ufffd: not permitted"
        assert fork_server.ask(Dispose("unreadable_name"), Said, "echo").text == "['/v/\ufffd']"


def test_a_disposable_is_a_child_of_the_fork_server(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid, parent = eval(fork_server.ask(Dispose("pids"), Said, "echo").text)
        assert parent == fork_server.process.pid
        assert pid not in fork_server.processes()


def test_a_disposable_is_killed_at_its_deadline(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        assert fork_server.ask(Dispose("nap", 600, deadline=0.3), Said, "echo", timeout=60).text.startswith("timeout")
        assert not _naps(fork_server.process.pid)


def test_a_disposable_ends_with_its_actor(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        with pytest.raises(Exception, match="did not answer"):
            fork_server.ask(Dispose("nap", 60, deadline=60), Said, "echo", timeout=0.2)
        fork_server.wait(lambda: len(_naps(fork_server.process.pid)) == 1, "it runs")
        fork_server.kill("echo")
        fork_server.wait(lambda: not _naps(fork_server.process.pid), "it is gone")


def test_excess_disposables_wait_for_their_turn(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(40) as pool:
            answers = list(
                pool.map(lambda _: fork_server.ask(Dispose("nap", 0.1), Said, "echo", timeout=20), range(40))
            )
        assert {answer.text for answer in answers} == {"'slept'"}


def test_a_program_is_in_service_when_its_socket_accepts_and_is_restarted_when_killed(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:programs", tmp_path / "run", ready=False) as fork_server:
        fork_server.wait_running("server")
        server = fork_server.tree()["server"]
        assert server.kind == "program"
        assert server.memory_bytes > 0
        fork_server.wait(
            lambda: (tmp_path / "server.log").read_text() == "listening hello\n", "it says so after it listens"
        )
        assert Path(f"/proc/{server.pid}/fd/0").readlink() == Path("/dev/null")
        fds = {os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{server.pid}/fd")}
        assert not any("memfd" in fd or "names" in fd or "lock" in fd for fd in fds)
        os.kill(server.pid, signal.SIGKILL)
        fork_server.wait_running("server", incarnation=2)
        causes = {(i["name"], i["cause"]) for i in incidents(tmp_path / "incidents")}
        assert causes == {("server", "signal"), ("broken", "exit")}
        broken = next(i for i in incidents(tmp_path / "incidents") if i["name"] == "broken")
        assert os.WEXITSTATUS(broken["status"]) == 127
        assert "No such file or directory: '/does/not/exist'" in str(broken["detail"])
        pid = fork_server.pid("server")
        fork_server.process.kill()
        fork_server.wait_end()
        fork_server.wait(lambda: not exists(pid), "the program ends with the fork server")
        fork_server.wait(lambda: not (tmp_path / "run" / "names").exists(), "cleaned")


@pytest.fixture
def core_limit() -> Iterator[str]:
    """The limit of core dumps with which the fork server is started."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    if not wanted:
        pytest.skip("NOT TESTED: this host allows no core dumps")
    resource.setrlimit(resource.RLIMIT_CORE, (wanted, hard))
    yield str(wanted)
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_no_process_of_the_tree_leaves_a_core_dump_and_a_program_has_the_limit_of_the_start(
    core_limit: str, tmp_path: Path
) -> None:
    def limit(pid: int) -> str:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
        return next(line for line in lines if line.startswith("Max core file size")).split()[4]

    with fork_server_running(f"{HERE}:programs", tmp_path / "run", ready=False) as fork_server:
        fork_server.wait_running("server")
        tree = fork_server.tree()
        assert limit(tree["server"].pid) == core_limit
        assert {limit(pid) for pid in (fork_server.process.pid, tree["root"].pid)} == {"0"}


def test_what_the_fork_server_and_actors_ignore_is_not_ignored_by_the_programs_that_they_start(tmp_path: Path) -> None:
    """Otherwise `timeout` of a shell script ends nothing, and a container has the signals of the agent."""
    with fork_server_running(f"{HERE}:status", tmp_path / "run", ready=False) as fork_server:
        fork_server.wait(lambda: "SigCgt" in _text(tmp_path / "status"), "the program of the fork server has run")
        assert _signals(_text(tmp_path / "status"), "SigIgn") & OF_THE_AGENT == set()
        assert _signals(_text(tmp_path / "status"), "SigBlk") == set()
        fork_server.wait_running("echo")
        program_of_actor = eval(fork_server.ask(Dispose("status_of_a_program"), Said, "echo").text)
        assert _signals(program_of_actor, "SigIgn") & OF_THE_AGENT == set()
        assert _signals(program_of_actor, "SigBlk") == set()
        actor = Path(f"/proc/{fork_server.pid('echo')}/status")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(fork_server.pid("echo"), number)
        assert _signals(actor.read_text(), "SigIgn") & OF_THE_AGENT <= {signal.SIGPIPE, signal.SIGXFSZ}
        assert fork_server.ask(Say("hi"), Said, "echo").text == "hi"
        assert fork_server.tree()["echo"].restarts == 0


def _signals(status: str, mask: str) -> set[int]:
    """The numbers in a mask of /proc/PID/status."""
    bits = int(next(line for line in status.splitlines() if mask in line).split(":")[1], 16)
    return {number for number in range(1, 65) if bits >> (number - 1) & 1}


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_program_that_does_not_answer_writes_its_stacks_and_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "answers").touch()
    with fork_server_running(f"{HERE}:wedged", tmp_path / "run") as fork_server:
        (tmp_path / "answers").unlink()
        fork_server.wait_running("server", incarnation=2, timeout=30)
        (tmp_path / "answers").touch()
        (incident,) = incidents(tmp_path / "incidents")
        assert (incident["name"], incident["cause"]) == ("server", "hang")
        assert "no answer to tests.support.tree_actors:has_file" in str(incident["detail"])
        assert (tmp_path / "server.log").read_text() == "the stacks\n"


def _naps(fork_server: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == fork_server and "(disposable)" in stat and ") Z" not in stat:
                found.append(int(entry.name))
    return found
