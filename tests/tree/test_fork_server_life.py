"""Start, restart, stop: real processes."""

import contextlib
import os
import shutil
import signal
import struct
import sys
from functools import partial
from pathlib import Path

import pytest

from supervision.fork_server.lock import AlreadyRunning, Lock, holder_of
from supervision.messaging.names import Names
from supervision.messaging.wire import LARGE_BYTES, MAX_BYTES, PIECE
from tests.support.fork_server_process import ForkServerProcess, exists, fork_server_running
from tests.support.incident_file import incidents
from tests.support.supervised_agent import agent
from tests.support.tree_actors import HERE, Said, Say

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"
LOCKED = f"{HERE}:locked_elsewhere"


def test_a_tree_starts_answers_and_stops_in_reverse_order(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        assert fork_server.ask(Say("hi"), Said, "group/a").text == "hi"
        tree = fork_server.tree()
        assert [(a.name, a.kind, a.parent) for a in tree.values()] == [
            ("root", "supervisor", "fork_server"),
            ("listener", "actor", "root"),
            ("echo", "actor", "root"),
            ("group", "supervisor", "root"),
            ("group/a", "actor", "group"),
            ("group/b", "actor", "group"),
        ]
        pids = fork_server.processes()
        fork_server.process.send_signal(signal.SIGTERM)
        assert fork_server.wait_end() == 0
    assert (tmp_path / "stops").read_text().split() == ["group/b", "group/a", "echo", "listener"]
    assert not any(exists(pid) for pid in pids)
    assert not (tmp_path / "run" / "lock").exists()


def test_a_killed_actor_is_replaced_and_its_name_means_the_new_one(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        old = fork_server.pid("echo")
        fork_server.kill("echo")
        fork_server.wait_running("echo", incarnation=2)
        assert fork_server.ask(Say("again"), Said, "echo").pid not in (0, old)
        assert fork_server.tree()["echo"].last_incident.startswith("signal")
        assert fork_server.tree()["echo"].restarts == 1


def test_a_killed_supervisor_takes_its_subtree_along_and_starts_it_again(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        before = fork_server.tree()
        fork_server.kill("group")
        fork_server.wait_running("group", "group/a", "group/b", incarnation=2)
        after = fork_server.tree()
        assert not exists(before["group/a"].pid)
        assert after["echo"].pid == before["echo"].pid
        assert after["group/a"].last_incident == ""


def test_a_killed_root_is_replaced_with_everything_below(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        before = fork_server.processes()
        fork_server.kill("root")
        fork_server.wait_running("root", "echo", "group/b", incarnation=2)
        assert not any(exists(pid) for pid in before)


MISTAKES = (signal.SIGHUP, signal.SIGUSR2, signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGSTKFLT)


def test_actors_and_supervisors_ignore_stop_signals_and_those_sent_by_mistake(tmp_path: Path) -> None:
    """All in one instant, after a dump: the frames of many signals are on the stack at once."""
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid, root = fork_server.pid("echo"), fork_server.pid("root")
        for receiver in (pid, root):
            os.kill(receiver, signal.SIGSTOP)
            real_time = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
            for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, *MISTAKES, *real_time):
                os.kill(receiver, number)
            os.kill(receiver, signal.SIGCONT)
            fork_server.wait(partial(_has_taken_all, receiver), "the signals are taken")
        os.kill(fork_server.process.pid, signal.SIGHUP)
        assert fork_server.ask(Say("hi"), Said, "echo").pid == pid
        assert fork_server.pid("root") == root


def test_a_signal_that_is_sent_by_mistake_does_not_end_a_start(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run", ready=False) as fork_server:
        fork_server.wait((tmp_path / "run" / "lock").exists, "it prepares the tree")
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            fork_server.process.send_signal(number)
        fork_server.wait_ready()


def test_a_fork_server_that_is_started_with_blocked_signals_reaps_and_stops(tmp_path: Path) -> None:
    """exec(3) keeps the mask of whoever started it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    try:
        fork_server = ForkServerProcess(SMALL, tmp_path / "run")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        fork_server.wait_ready()
        fork_server.kill("echo")
        fork_server.wait_running("echo", incarnation=2)
        fork_server.process.terminate()
        assert fork_server.wait_end() == 0
    finally:
        fork_server.process.kill()


def _has_taken_all(pid: int) -> bool:
    """Whether no signal is pending."""
    pending = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("ShdPnd"))
    return not int(pending.split()[1], 16)


def test_a_killed_janitor_is_replaced(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.wait(lambda: _child_called(fork_server.process.pid, "janitor") != 0, "the janitor has its name")
        janitor = _child_called(fork_server.process.pid, "janitor")
        os.kill(janitor, signal.SIGKILL)
        fork_server.wait(
            lambda: _child_called(fork_server.process.pid, "janitor") not in (0, janitor), "another janitor"
        )
        fork_server.process.kill()
        fork_server.wait_end()
        fork_server.wait(lambda: not list((tmp_path / "run").iterdir()), "sockets and lock gone")


def _child_called(parent: int, title: str) -> int:
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with contextlib.suppress(OSError):  # it may end meanwhile
            if Path(f"/proc/{pid}/comm").read_text().strip() == title:
                return int(pid)
    return 0


def test_a_killed_fork_server_leaves_nothing(tmp_path: Path) -> None:
    fork_server = ForkServerProcess(SMALL, tmp_path / "run")
    fork_server.wait_ready()
    pids = fork_server.processes()
    fork_server.process.kill()
    fork_server.wait_end()
    fork_server.wait(lambda: not any(exists(pid) for pid in pids), "all processes gone")
    fork_server.wait(lambda: not list((tmp_path / "run").iterdir()), "sockets and lock gone")
    with fork_server_running(SMALL, tmp_path / "run") as again:
        assert again.ask(Say("hi"), Said, "echo").text == "hi"


def test_a_second_agent_on_the_directory_is_refused_and_one_beside_it_is_not(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        second = ForkServerProcess(SMALL, tmp_path / "run")
        assert second.wait_end() == 1
        assert (
            f"an agent with pid {fork_server.process.pid} already runs on {tmp_path / 'run'}" in second.log.read_text()
        )
        with fork_server_running(SMALL, tmp_path / "other") as other:
            assert other.pid("echo") != fork_server.pid("echo")
        assert fork_server.ask(Say("still"), Said, "echo").text == "still"


def test_an_actor_that_ignores_the_stop_is_killed_when_its_budget_is_over(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:stubborn", tmp_path / "run") as fork_server:
        fork_server.process.send_signal(signal.SIGTERM)
        assert fork_server.wait_end() == 0


def test_each_process_has_the_name_of_its_actor_for_a_title(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        for name in ("root", "echo", "group/a"):
            shown = Path(f"/proc/{fork_server.pid(name)}/cmdline").read_bytes().rstrip(b"\0").decode()
            assert shown == f"test: {name}"
        assert Path(f"/proc/{fork_server.process.pid}/cmdline").read_bytes().startswith(sys.executable.encode())


def test_a_signal_that_is_no_order_does_not_end_it(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pids = fork_server.processes()
        for number in (*MISTAKES, signal.SIGRTMIN, signal.SIGRTMAX):
            fork_server.process.send_signal(number)
        fork_server.process.send_signal(signal.SIGUSR1)
        fork_server.wait(lambda: "echo: running" in fork_server.log.read_text(), "its state is in the log")
        assert "state of the agent: ready" in fork_server.log.read_text()
        assert fork_server.processes() == pids


def test_incomplete_messages_do_not_fill_its_memory(tmp_path: Path) -> None:
    piece = struct.pack("!I", PIECE | LARGE_BYTES) + bytes(LARGE_BYTES)
    pieces = 3 * MAX_BYTES // 4 // LARGE_BYTES
    with fork_server_running(SMALL, tmp_path / "run") as fork_server, contextlib.ExitStack() as held:
        names = Names(tmp_path / "run" / "names")
        first, second = (held.enter_context(names.connect("fork_server")[0]) for _ in range(2))
        for sock in (first, second):
            sock.settimeout(20)
        first.sendall(piece * pieces)
        with pytest.raises(OSError):
            second.sendall(piece * pieces)
        assert fork_server.tree()["echo"].state == "running"
        first.sendall(piece)  # the one within the bound stays


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with agent(tmp_path, {"deaf": {"shutdown_seconds": 60}}, extra="deaf") as found:
        fork_server, pids = found.fork_server, found.fork_server.processes()
        os.kill(fork_server.pid("deaf"), signal.SIGSTOP)
        fork_server.process.send_signal(signal.SIGTERM)
        fork_server.wait(lambda: fork_server.tree()["deaf"].state == "stopping", "it has begun to stop")
        fork_server.process.send_signal(signal.SIGTERM)
        assert fork_server.wait_end() == 1
    assert not any(exists(pid) for pid in pids)


def test_a_question_to_an_actor_that_starts_is_answered_once_it_is_in_service(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:asking", tmp_path / "run") as fork_server:
        fork_server.kill("echo")
        fork_server.kill("asking")
        fork_server.wait_running("asking", "echo", incarnation=2)


def test_an_actor_that_does_not_come_into_service_is_ended_and_the_tree_gives_up(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:late", tmp_path / "run", ready=False) as fork_server:
        assert fork_server.wait_end(20) == 1
    found = [(incident["name"], incident["cause"]) for incident in incidents(tmp_path / "incidents")]
    assert found == [("late", "start_timeout"), ("late", "start_timeout"), ("root", "exit")]


def test_a_removed_run_directory_ends_the_agent_with_an_incident_and_frees_the_lock(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pids = fork_server.processes()
        shutil.rmtree(tmp_path / "run")
        assert fork_server.wait_end() == 1
        assert not any(exists(pid) for pid in pids)
    (found,) = incidents(tmp_path / "incidents")
    assert (found["name"], found["cause"]) == ("fork_server", "run_dir_removed")
    assert found["uptime"] > 0
    with fork_server_running(SMALL, tmp_path / "run") as again:
        assert again.ask(Say("hi"), Said, "echo").text == "hi"


def test_a_removed_lock_lets_no_second_agent_start(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with fork_server_running(SMALL, run) as fork_server:
        (run / "lock").unlink()
        fork_server.wait(lambda: holder_of(run) == fork_server.process.pid, "the lock names its holder again")
        with pytest.raises(AlreadyRunning):
            Lock(run)


def test_a_removed_name_is_restored_and_an_actor_without_a_socket_is_replaced(tmp_path: Path) -> None:
    names = tmp_path / "run" / "names"
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid = fork_server.pid("echo")
        (names / "echo").unlink()
        (names / "fork_server").unlink()
        fork_server.wait(lambda: (names / "echo").exists() and (names / "fork_server").exists(), "they are made again")
        assert fork_server.ask(Say("hi"), Said, "echo").pid == pid
        for file in ("echo", "echo#1", "fork_server", "fork_server#0"):
            (names / file).unlink()
        fork_server.wait(lambda: (names / "fork_server").exists(), "the fork server listens again")
        fork_server.wait_running("echo", incarnation=2)
        assert fork_server.ask(Say("hi"), Said, "echo").pid != pid
    found = [(incident["name"], incident["cause"]) for incident in incidents(tmp_path / "incidents")]
    assert found == [("echo", "name_removed")]


def test_another_agent_is_refused_while_the_run_directory_of_the_first_is_gone(tmp_path: Path) -> None:
    """The lock is in a directory of its own, so that removing the run directory lets nobody in."""
    with fork_server_running(LOCKED, tmp_path / "run") as first:
        first.process.send_signal(signal.SIGSTOP)
        shutil.rmtree(tmp_path / "run")
        second = ForkServerProcess(LOCKED, tmp_path / "run")
        assert second.wait_end() == 1
        assert f"an agent with pid {first.process.pid} already runs" in second.log.read_text()
        first.process.send_signal(signal.SIGCONT)
        assert first.wait_end() == 1


def test_the_program_for_when_it_is_killed_runs_while_the_lock_is_held(tmp_path: Path) -> None:
    first = ForkServerProcess(f"{HERE}:with_last_steps", tmp_path / "run")
    first.wait_ready()
    first.process.kill()
    first.wait_end()
    with fork_server_running(SMALL, tmp_path / "run"):  # it waits for the lock
        assert "lock" in (tmp_path / "after").read_text().split()


def test_a_stopped_janitor_blocks_no_agent(tmp_path: Path) -> None:
    first = ForkServerProcess(SMALL, tmp_path / "run")
    first.wait_ready()
    first.wait(lambda: _child_called(first.process.pid, "janitor") != 0, "the janitor has its name")
    janitor = _child_called(first.process.pid, "janitor")
    os.kill(janitor, signal.SIGSTOP)
    first.process.kill()
    first.wait_end()
    with fork_server_running(SMALL, tmp_path / "run"):
        assert not exists(janitor)


def test_an_agent_that_was_killed_is_followed_by_another_at_once(tmp_path: Path) -> None:
    agents = [ForkServerProcess(SMALL, tmp_path / "run")]
    agents[-1].wait_ready()
    for _ in range(3):
        # not reaped: the next one starts beside the zombie, while the janitor is at work
        agents[-1].process.kill()
        agents.append(ForkServerProcess(SMALL, tmp_path / "run"))
        agents[-1].wait_ready()
    agents[-1].process.send_signal(signal.SIGTERM)
    assert [agent.wait_end() for agent in agents] == [-signal.SIGKILL] * 3 + [0]
