"""What goes wrong in one actor costs that actor, is noticed in time, and is on record with its cause."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from supervision.errors import AskError
from supervision.protocol import Done, Inject
from tests.support.fork_server_process import ForkServerProcess, fork_server_running
from tests.support.incident_file import incidents
from tests.support.tree_actors import HERE, Do, Said, Say

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"


def _tell(fork_server: ForkServerProcess, name: str, order: Do) -> None:
    """A question nobody waits for."""
    with pytest.raises(Exception, match=r"did not answer|closed|there"):
        fork_server.ask(order, Said, name, timeout=0.5)


@pytest.mark.parametrize("what", ["exception", "exception in task", "exception in timer"])
def test_an_exception_ends_the_process_and_its_traceback_is_recorded(tmp_path: Path, what: str) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        other = fork_server.pid("listener")
        _tell(fork_server, "echo", Do(what))
        fork_server.wait_running("echo", incarnation=2)
        (incident,) = incidents(tmp_path / "incidents")
        assert (incident["name"], incident["cause"], os.WEXITSTATUS(incident["status"])) == ("echo", "exception", 70)
        assert "ZeroDivisionError: in a " in str(incident["detail"])
        assert str(incident["message"]).endswith("_boom" if what.endswith("timer") else "Do")
        (closed,) = incidents(tmp_path / "incidents", "closed")
        assert closed["incarnation"] == 2
        assert fork_server.pid("listener") == other


def test_an_error_in_the_mailbox_restarts_the_actor_as_one_in_a_handler_does(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        _tell(fork_server, "echo", Do("break the mailbox"))
        _tell(fork_server, "echo", Do("nothing"))
        fork_server.wait_running("echo", incarnation=2)
        (incident,) = incidents(tmp_path / "incidents")
        assert (incident["cause"], os.WEXITSTATUS(incident["status"])) == ("exception", 70)
        assert "ZeroDivisionError: in the mailbox" in str(incident["detail"])
        assert fork_server.ask(Say("again"), Said, "echo").text == "again"


def test_two_kills_in_one_instant_are_both_recorded(tmp_path: Path) -> None:
    """A supervisor and a child of it: the fork server ends the subtree of the one while the other is dying."""
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        for round in range(1, 6):
            pids = [fork_server.pid(name) for name in ("group", "group/a")]
            # both have died before the fork server looks: it would end the child of the one by itself
            os.kill(fork_server.process.pid, signal.SIGSTOP)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            os.kill(fork_server.process.pid, signal.SIGCONT)
            fork_server.wait_running("group", "group/a", "group/b", incarnation=round + 1)
        found = [(incident["name"], incident["cause"]) for incident in incidents(tmp_path / "incidents")]
        assert sorted(found) == [("group", "signal")] * 5 + [("group/a", "signal")] * 5


def test_a_client_of_a_server_that_is_down_waits_and_is_served_by_the_next_one(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:server", tmp_path / "run") as fork_server:
        port = int((tmp_path / "port").read_text())

        def served_by() -> str:
            with socket.create_connection(("127.0.0.1", port), 20.0) as client:
                return client.recv(100).decode()

        assert served_by() == "1"
        fork_server.kill("server")
        fork_server.wait_running("server", incarnation=2)
        fork_server.kill("server")
        fork_server.wait(lambda: fork_server.tree()["server"].state == "down", "it waits for its restart")
        assert served_by() == "3"


def test_a_busy_loop_is_a_hang_with_its_stack(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        _tell(fork_server, "echo", Do("busy", 600))
        fork_server.wait(lambda: fork_server.tree()["echo"].message.endswith("Do"), "what it does is seen from outside")
        fork_server.wait_running("echo", incarnation=2)
        (incident,) = incidents(tmp_path / "incidents")
        assert incident["cause"] == "hang"
        assert str(incident["message"]).endswith("Do")
        assert "in _do" in str(incident["detail"])


def test_a_stopped_process_is_a_hang(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.kill("group/a", signal.SIGSTOP)
        fork_server.wait_running("group/a", incarnation=2)
        (incident,) = incidents(tmp_path / "incidents")
        assert incident["cause"] == "hang"
        assert "stopped by a signal" in str(incident["detail"])


def test_a_hang_of_the_default_policy_is_replaced(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:default_policies", tmp_path / "run") as fork_server:
        fork_server.kill("listener", signal.SIGSTOP)
        _tell(fork_server, "echo", Do("busy", 600))
        fork_server.wait_running("echo", "listener", incarnation=2, timeout=60)


def test_a_leak_is_ended_at_the_ceiling(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        _tell(fork_server, "echo", Do("leak"))
        fork_server.wait_running("echo", incarnation=2, timeout=15)
        (incident,) = incidents(tmp_path / "incidents")
        # a leak that also blocks the loop may be either, whichever is noticed first
        assert incident["cause"] in ("memory", "hang")
        if incident["cause"] == "memory":
            assert "more than the 150 MiB allowed" in str(incident["detail"])


def test_an_exit_and_a_signal_are_distinguished(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        _tell(fork_server, "echo", Do("exit"))
        fork_server.wait_running("echo", incarnation=2)
        fork_server.kill("echo", signal.SIGSEGV)
        fork_server.wait_running("echo", incarnation=3)
        assert [(i["cause"], i["status"]) for i in incidents(tmp_path / "incidents")] == [
            ("exit", 0),
            ("signal", signal.SIGSEGV),
        ]


def test_a_crash_loop_ends_the_agent_with_an_error(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:brittle", tmp_path / "run") as fork_server:
        for incarnation in (2, 3):
            fork_server.kill("echo")
            fork_server.wait(lambda n=incarnation: fork_server.tree()["echo"].incarnation >= n, "restarted")  # type: ignore[misc]
            fork_server.wait_running("echo", incarnation=incarnation)
        fork_server.kill("echo")
        assert fork_server.wait_end() == 1


def test_the_fork_server_answers_while_every_actor_is_stopped(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        for pid in fork_server.processes():
            os.kill(pid, signal.SIGSTOP)
        assert len(fork_server.tree()) == 6
        fork_server.wait_running("root", "group/b", incarnation=2)


def test_messages_during_a_restart_reach_the_new_actor(tmp_path: Path) -> None:
    from tests.support.tree_actors import GetSeen, Seen, Tell

    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.ask(Say("warm"), Said, "echo")
        # stopped first: a process that is only killed may still take a message while it dies
        listener = psutil.Process(fork_server.pid("listener"))
        listener.suspend()
        fork_server.wait(lambda: listener.status() == psutil.STATUS_STOPPED, "the listener stands still")
        fork_server.ask(Tell("listener", 50), Said, "echo")
        listener.kill()
        fork_server.wait(lambda: fork_server.ask(GetSeen(), Seen, "listener").numbers == list(range(50)), "all 50 came")


def test_a_restarted_actor_sends_hello_to_its_feeders(tmp_path: Path) -> None:
    from tests.support.tree_actors import GetSeen, Seen

    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        # who is in service may not have said it yet
        fork_server.wait(
            lambda: fork_server.ask(GetSeen(), Seen, "listener").hellos.count("group/b") == 1, "the first hello"
        )
        fork_server.kill("group/b")
        fork_server.wait(
            lambda: fork_server.ask(GetSeen(), Seen, "listener").hellos.count("group/b") == 2, "two hellos"
        )


def test_an_actor_that_loses_messages_sends_hello_to_its_feeders_again(tmp_path: Path) -> None:
    from tests.support.tree_actors import GetSeen, Seen

    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.ask(Inject(name="group/b", fault="drop", rate=1), Done)

        def said_again() -> bool:
            with suppress(AskError):  # the first may come before the fault
                fork_server.ask(Say("lost"), Said, "group/b", timeout=0.1)
            return fork_server.ask(GetSeen(), Seen, "listener").hellos.count("group/b") >= 2

        fork_server.wait(said_again, "the hello at the start and another", 60)
        assert fork_server.tree()["group/b"].incarnation == 1
