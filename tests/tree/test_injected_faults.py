"""`supervise inject`: each fault does what it says, is healed, and leaves exactly the record it should."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from supervision.errors import AskError
from supervision.protocol import Done, Inject
from tests.support.sample_tree import Work, Worked
from tests.support.supervised_agent import agent

pytestmark = pytest.mark.tree
QUICK_HEARTBEAT = {"a": {"heartbeat_seconds": 2, "memory_mib": 60}}


@pytest.mark.parametrize(
    ("arguments", "cause", "how", "detail"),
    [
        (["crash"], "signal", "SIGKILL", ""),
        (["exit", "--status", "7"], "exit", 7, ""),
        (["exit", "--status", "0"], "exit", 0, ""),
        (["exception"], "exception", 70, "InjectedFault"),
        (["hang"], "hang", "SIGKILL", "in _hang"),
        (["stop"], "hang", "SIGKILL", "stopped by a signal"),
        (["leak", "--rate", "50"], "memory", "SIGKILL", "more than the 60 MiB allowed"),
    ],
)
def test_a_fault_that_ends_the_actor_is_healed_and_recorded_once(
    tmp_path: Path, arguments: list[str], cause: str, how: str | int, detail: str
) -> None:
    with agent(tmp_path, QUICK_HEARTBEAT) as found:
        others = {name: pid for name, pid in found.pids().items() if name != "a"}
        done = found.supervise("inject", "a", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{arguments[0]} injected into a")
        found.fork_server.wait_running("a", incarnation=2)
        assert found.fork_server.ask(Work("again"), Worked, "a") == Worked("again")
        found.fork_server.wait(lambda: found.incidents()[-1].restart_seconds is not None, "the latency is filled in")
        (incident,) = found.incidents()
        assert (incident.actor, incident.incarnation, incident.cause) == ("a", 1, cause)
        assert how in (incident.signal, incident.exit_code)
        assert detail in incident.detail
        assert {name: pid for name, pid in found.pids().items() if name != "a"} == others


def test_an_exception_is_raised_in_the_next_handler_and_names_its_message(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.inject("a", "exception")
        with pytest.raises(AskError):
            found.fork_server.ask(Work("x" * 50), Worked, "a", timeout=3)
        found.fork_server.wait_running("a", incarnation=2)
        (incident,) = found.incidents()
        assert incident.message == "tests.support.sample_tree.Work"
        assert "xxxx" not in (found.home / "incidents.jsonl").read_text()


def test_a_hang_and_a_stop_shorter_than_the_heartbeat_leave_the_process_alone(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": {"heartbeat_seconds": 8}, "b": {"heartbeat_seconds": 8}}) as found:
        before, started_at = found.pids(), time.monotonic()
        found.inject("a", "hang", seconds=0.5)
        found.inject("b", "stop", seconds=0.5)
        assert found.fork_server.ask(Work("1"), Worked, "a") == Worked("1")
        assert found.fork_server.ask(Work("2"), Worked, "b") == Worked("2")
        assert time.monotonic() - started_at > 0.3
        assert found.pids() == before
        assert found.incidents() == []


def test_a_second_stop_lasts_as_long_as_ordered_despite_the_first(tmp_path: Path) -> None:
    with agent(tmp_path, {"b": {"heartbeat_seconds": 60}}) as found:
        found.inject("b", "stop", seconds=0.3)
        started_at = time.monotonic()
        found.inject("b", "stop", seconds=1.5)
        assert found.fork_server.ask(Work("1"), Worked, "b", timeout=30) == Worked("1")
        assert time.monotonic() - started_at >= 1.5
        assert found.incidents() == []


def test_slow_delays_each_handler_for_the_ordered_time(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.inject("a", "slow", rate=0.3, seconds=2)
        started_at = time.monotonic()
        found.fork_server.ask(Work("slow"), Worked, "a")
        assert time.monotonic() - started_at >= 0.3
        found.inject("a", "slow", rate=600, seconds=0.5)
        found.fork_server.wait(lambda: not found.fork_server.tree()["a"].injected, "the fault is over")
        found.fork_server.ask(Work("not slow"), Worked, "a")
        assert found.incidents() == []


def test_a_fault_that_nothing_ends_is_named_with_what_ends_it(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        done = found.supervise("inject", "a", "drop")
        assert done.stdout.splitlines()[0].endswith("until it is replaced: `supervise inject a crash` ends it")
        assert "until" not in found.supervise("inject", "a", "slow", "--seconds", "0.1").stdout


def test_status_names_a_fault_as_long_as_it_lasts(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.inject("a", "slow", rate=0.001)
        found.inject("b", "drop", rate=0.001, seconds=600)
        shown = found.supervise("status")
        assert shown.returncode == 1
        lines = [line.partition(" lasts")[0].partition(" --root-dir")[0] for line in shown.stdout.splitlines()[1:]]
        assert lines == [
            "  a: slow was injected, and",
            "      -> supervise inject a crash",
            "  b: drop was injected, and",
            "      -> supervise inject b crash",
        ]
        found.inject("b", "drop", seconds=0.01)
        found.inject("a", "crash")
        found.fork_server.wait_running("a", incarnation=2)
        found.fork_server.wait(lambda: found.supervise("status").returncode == 0, "no fault lasts")


def test_drop_loses_messages_for_the_ordered_time(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.inject("a", "drop", rate=1, seconds=1)
        with pytest.raises(AskError):
            found.fork_server.ask(Work("lost"), Worked, "a", timeout=0.3)
        time.sleep(1)
        assert found.fork_server.ask(Work("there"), Worked, "a") == Worked("there")
        found.fork_server.wait(
            lambda: found.fork_server.tree()["a"].dropped == 1, "it is counted with the next heartbeat"
        )
        assert found.incidents() == []


@pytest.mark.parametrize("fault", ["crash", "exception", "hang", "stop"])
@pytest.mark.parametrize("name", ["group", "root"])
def test_supervisors_heal_too(tmp_path: Path, name: str, fault: str) -> None:
    # so long that a machine that stands still for a moment is no hang
    with agent(tmp_path, {"group": {"heartbeat_seconds": 3}, "root": {"heartbeat_seconds": 3}}) as found:
        before = found.pids()
        found.inject(name, fault)  # type: ignore[arg-type]
        found.fork_server.wait_running(name, "group/x", "group/y", "group/z", incarnation=2)
        found.fork_server.wait_ready()
        (incident,) = found.incidents()
        assert incident.actor == name
        below = [other for other in before if name == "root" or other.startswith("group/")]
        assert not any(os.path.exists(f"/proc/{before[other]}") for other in below)


def test_a_wrong_fault_is_refused(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        done = found.supervise("inject", "grup", "crash")
        assert done.returncode == 4
        assert "there is no actor grup, did you mean group?" in done.stderr
        done = found.supervise("inject", "a", "drop", "--rate", "7")
        assert done.returncode == 2
        assert (
            found.fork_server.ask(Inject(name="a", fault="drop", rate=7), Done).error
            == "rate: 7 is not a share, 0 to 1"
        )
        assert (
            json.loads(found.supervise("inject", "a", "stop", "--seconds", "0.1", "-o", "json").stdout)["fault"]
            == "stop"
        )
        assert found.incidents() == []


def test_random_faults_leave_one_record_each_and_no_process(tmp_path: Path) -> None:
    """Twelve kills of different actors one after the other: as many records, each with its latency."""
    policy = {name: {"max_restarts": 100} for name in ("a", "b", "group/x", "group/y", "group/z")}
    with agent(tmp_path, policy) as found:
        pids: set[int] = set()
        victims = ["a", "group/x", "b", "group/z", "a", "group/y", "b", "group/x", "a", "group/y", "b", "group/z"]
        incarnations = dict.fromkeys(policy, 1)
        for name in victims:
            found.fork_server.wait_running(name, incarnation=incarnations[name])
            pids.add(found.pids()[name])
            found.fork_server.kill(name, signal.SIGKILL)
            incarnations[name] += 1
        for name, incarnation in incarnations.items():
            found.fork_server.wait_running(name, incarnation=incarnation)
        found.fork_server.wait(
            lambda: all(i.restart_seconds is not None for i in found.incidents()), "all are in service"
        )
        # two that die within a millisecond may be reaped in any order
        assert sorted(incident.actor for incident in found.incidents()) == sorted(victims)
        assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
        assert found.fork_server.tree()["group"].incarnation == 1
