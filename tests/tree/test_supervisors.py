"""Every setting of the policy file, honoured by real processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervision.errors import AskError
from supervision.process_messages import EXIT_ESCALATED
from supervision.protocol import Done
from supervision.spec import GetPolicies, PoliciesInForce, SetPolicies
from tests.support.sample_tree import Leave, Work, Worked
from tests.support.supervised_agent import Agent, agent

pytestmark = pytest.mark.tree
QUICK = {"backoff_seconds": 0.05, "backoff_max_seconds": 0.1}
GROUP = ("group/x", "group/y", "group/z")


@pytest.mark.parametrize(
    ("strategy", "replaced", "notes"),
    [
        ("one_for_one", {"y"}, ["start y"]),
        ("one_for_all", {"x", "y", "z"}, ["stop z", "stop x", "start x", "start y", "start z"]),
        ("rest_for_one", {"y", "z"}, ["stop z", "start y", "start z"]),
    ],
)
def test_a_strategy_restarts_exactly_the_children_that_it_defines(
    tmp_path: Path, strategy: str, replaced: set[str], notes: list[str]
) -> None:
    with agent(tmp_path, {"group": {"strategy": strategy}}) as found:
        before, noted = found.pids(), len(found.notes())
        found.fork_server.kill("group/y")
        found.fork_server.wait_running(*(f"group/{name}" for name in replaced), incarnation=2)
        after = found.pids()
        assert {name for name in before if before[name] != after[name]} == {f"group/{name}" for name in replaced}
        since = [f"{what} {name.removeprefix('group/')}" for what, name in found.notes()[noted:]]
        # who are started together come into service in any order
        stops = [note for note in notes if note.startswith("stop")]
        assert since[: len(stops)] == stops
        assert sorted(since) == sorted(notes)
        assert found.causes() == [("group/y", "signal")]


def _end(found: Agent, name: str, how: str) -> None:
    if how == "exception":
        found.inject(name, "exception")
        with pytest.raises(AskError):
            found.fork_server.ask(Work("?"), Worked, name, timeout=2)
    elif how == "SIGKILL":
        found.fork_server.kill(name)
    else:
        with pytest.raises(AskError):
            found.fork_server.ask(Leave(int(how)), Done, name, timeout=2)


@pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
def test_a_restart_type_decides_after_each_way_to_end(tmp_path: Path, restart: str) -> None:
    ways = ["0", "3", "SIGKILL", "exception"]
    restarted = {"permanent": ways, "transient": ways[1:], "temporary": []}[restart]
    faults = {"permanent": ways, "transient": ways[1:], "temporary": ways[1:]}[restart]
    names = dict(zip(ways, ["a", "group/x", "group/y", "group/z"], strict=True))
    policy = {name: {"restart": restart} for name in names.values()}
    with agent(tmp_path, policy) as found:
        for way, name in names.items():
            _end(found, name, way)
        again = [names[way] for way in restarted]
        found.fork_server.wait_running(*again, incarnation=2)
        gone = [name for name in names.values() if name not in again]
        found.fork_server.wait(
            lambda: all(found.fork_server.tree()[n].state == "down" for n in gone), "the others are gone"
        )
        # one after the other in one message queue: had there been orders to start them, they would have come before
        found.crash("b", 1)
        found.fork_server.wait_running("b", incarnation=2)
        assert [found.fork_server.tree()[name].incarnation for name in gone] == [1] * len(gone)
        causes = {"0": "exit", "3": "exit", "SIGKILL": "signal", "exception": "exception"}
        expected = sorted((names[way], causes[way]) for way in faults)
        assert sorted(cause for cause in found.causes() if cause[0] != "b") == expected


def test_a_supervisor_gives_up_after_one_exit_more_than_allowed_and_is_restarted(tmp_path: Path) -> None:
    with agent(tmp_path, {"group/x": QUICK | {"max_restarts": 2, "period_seconds": 60}}) as found:
        siblings = [found.pids()[name] for name in GROUP]
        for incarnation in (1, 2, 3):
            assert found.fork_server.tree()["group"].incarnation == 1
            found.crash("group/x", incarnation)
        found.fork_server.wait_running("group", incarnation=2)
        found.fork_server.wait_running("group/x", incarnation=4)
        found.fork_server.wait_running("group/y", "group/z", incarnation=2)
        assert found.causes() == [("group/x", "signal")] * 3 + [("group", "exit")]
        escalated = found.incidents()[-1]
        assert escalated.exit_code == EXIT_ESCALATED
        assert escalated.detail == "group/x failed 3 times in 60 s, more than the 2 restarts allowed"
        assert set(siblings).isdisjoint(found.pids().values())
        assert found.pids()["a"] in found.pids().values()
        assert found.fork_server.tree()["a"].incarnation == 1
        assert found.fork_server.tree()["group"].gave_up == 1
        assert "group: gave up" in found.supervise("status").stdout


def test_a_supervisor_that_is_made_to_exit_does_not_give_up(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.inject("group", "exit", status=1)
        found.fork_server.wait_running("group", *GROUP, incarnation=2)
        assert found.fork_server.tree()["group"].gave_up == 0
        assert found.supervise("status").stdout.startswith("ready")


def test_a_failed_temporary_actor_is_reported_down_until_it_becomes_permanent(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": {"restart": "temporary"}}) as found:
        found.inject("a", "crash")
        found.fork_server.wait(lambda: found.fork_server.tree()["a"].is_over, "it has ended for good")
        assert "a: down, last incident: signal" in found.supervise("status").stdout
        words = [found.supervise(word).stdout.partition(":")[0] for word in ("status", "tree")]
        assert words == ["degraded", "actors degraded"]
        assert "its restart type is temporary" in found.supervise("status").stdout
        policy = found.fork_server.ask(GetPolicies(), PoliciesInForce).policies["a"]
        permanent = {"a": msgspec.structs.replace(policy, restart="permanent")}
        assert found.fork_server.ask(SetPolicies(permanent), Done).error == ""
        found.fork_server.wait_running("a", incarnation=2)


def test_failures_further_apart_than_the_period_are_forgotten(tmp_path: Path) -> None:
    with agent(tmp_path, {"group/x": QUICK | {"max_restarts": 1, "period_seconds": 0.3}}) as found:
        for incarnation in (1, 2, 3, 4):
            found.crash("group/x", incarnation)
            found.fork_server.wait_running("group/x", incarnation=incarnation + 1)
            time.sleep(0.35)
        assert found.fork_server.tree()["group"].incarnation == 1


def test_the_total_of_all_children_counts_too(tmp_path: Path) -> None:
    with agent(tmp_path, {"group": {"total_restarts": 2, "total_period_seconds": 60}}) as found:
        for name in GROUP:
            found.fork_server.kill(name)
        found.fork_server.wait_running("group", incarnation=2)
        assert "its children failed 3 times in 60 s" in found.incidents()[-1].detail


def test_levels_escalate_up_to_the_root_and_the_agent_ends_with_one(tmp_path: Path) -> None:
    once = QUICK | {"max_restarts": 1, "period_seconds": 60}
    with agent(tmp_path, {"group": once, "group/x": once, "root": {"max_restarts": 0}}) as found:
        for incarnation in (1, 2, 3, 4):
            found.crash("group/x", incarnation)
        assert found.fork_server.wait_end(10) == 1
        assert found.causes()[:6] == [
            *[("group/x", "signal")] * 2,
            ("group", "exit"),
            *[("group/x", "signal")] * 2,
            ("group", "exit"),
        ]
        assert found.causes()[6:] == [("root", "exit")]


def test_a_root_that_gives_up_is_started_again_with_all_below_it(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": QUICK | {"max_restarts": 0}, "root": {"max_restarts": 2}}) as found:
        for incarnation in (1, 2):
            found.crash("a", incarnation)
            found.fork_server.wait_running("root", "a", "b", *GROUP, incarnation=incarnation + 1)
        assert found.fork_server.tree()["root"].gave_up == 2
        found.crash("a", 3)
        assert found.fork_server.wait_end(10) == 1
        assert found.causes() == [("a", "signal"), ("root", "exit")] * 3


def test_the_first_restart_waits_for_nothing(tmp_path: Path) -> None:
    policy = {"backoff_seconds": 600, "backoff_max_seconds": 600, "backoff_reset_seconds": 600}
    with agent(tmp_path, {"a": policy}) as found:
        found.crash("a", 1)
        found.fork_server.wait_running("a", incarnation=2)


def test_each_further_restart_waits_twice_as_long(tmp_path: Path) -> None:
    policy = {"backoff_seconds": 0.5, "backoff_max_seconds": 600, "backoff_reset_seconds": 600, "max_restarts": 100}
    with agent(tmp_path, {"a": policy}) as found:
        killed = [found.crash("a", incarnation) for incarnation in (1, 2, 3, 4)]
        found.fork_server.wait_running("a", incarnation=5)
        pauses = [start - end for start, end in zip(found.started_at("a")[1:], killed, strict=True)]
    # the least of each: jitter takes off a fifth at most
    assert all(0.8 * least <= pause for least, pause in zip([0, 0.5, 1.0, 2.0], pauses, strict=True)), pauses


def test_no_restart_waits_longer_than_the_longest_backoff(tmp_path: Path) -> None:
    policy = {"backoff_seconds": 0.1, "backoff_max_seconds": 0.2, "backoff_reset_seconds": 600, "max_restarts": 100}
    with agent(tmp_path, {"a": policy}) as found:
        for incarnation in range(1, 13):  # the last of these would wait for 102 s without a bound
            found.crash("a", incarnation)
        found.fork_server.wait_running("a", incarnation=13)


def test_after_a_time_in_service_the_restart_is_immediate_again(tmp_path: Path) -> None:
    policy = {"backoff_seconds": 60, "backoff_max_seconds": 60, "backoff_reset_seconds": 0.2, "max_restarts": 100}
    with agent(tmp_path, {"a": policy}) as found:
        for incarnation in (1, 2, 3):
            found.fork_server.wait_running("a", incarnation=incarnation)
            time.sleep(1.0)  # its supervisor may learn of its start later than we do
            found.crash("a", incarnation)
        found.fork_server.wait_running("a", incarnation=4, timeout=30)


def test_a_tree_stops_in_reverse_order(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        found.fork_server.process.send_signal(signal.SIGTERM)
        assert found.fork_server.wait_end() == 0
        stops = [name for what, name in found.notes() if what == "stop"]
        assert stops == ["group/z", "group/y", "group/x", "b", "a"]
        assert found.causes() == []


def test_an_actor_that_fails_while_it_stops_leaves_an_incident_and_the_others_stop(tmp_path: Path) -> None:
    with agent(tmp_path, extra="clumsy") as found:
        found.fork_server.process.send_signal(signal.SIGTERM)
        assert found.fork_server.wait_end(15) == 0
        (incident,) = found.incidents()
        assert (incident.actor, incident.cause, incident.message) == ("clumsy", "exception", "on_stop")
        assert incident.detail.rstrip().endswith("RuntimeError: no clean end")
        stops = {name for what, name in found.notes() if what == "stop"}
        assert stops == {"a", "b", "clumsy", *GROUP}


def test_a_child_that_ignores_the_stop_is_killed_when_its_budget_is_over(tmp_path: Path) -> None:
    """By its supervisor's order, while its siblings are restarted; test_fork_server_life has the stop of the tree."""
    policy: dict[str, Any] = {"root": {"strategy": "one_for_all"}, "deaf": {"shutdown_seconds": 0.5}}
    with agent(tmp_path, policy, defaults={"shutdown_seconds": 600}, extra="deaf") as found:
        killed = found.crash("a", 1)
        found.fork_server.wait_running("a", "b", "group", "deaf", incarnation=2)
        assert found.started_at("a")[1] - killed >= 0.5
        stops = [name for what, name in found.notes() if what == "stop"]
        assert stops == ["deaf", "group/z", "group/y", "group/x", "b"]
        assert found.causes() == [("a", "signal")]


def test_a_budget_of_nothing_is_a_kill_without_a_word(tmp_path: Path) -> None:
    policy: dict[str, Any] = {"group": {"strategy": "one_for_all"}, "group/z": {"shutdown_seconds": 0}}
    with agent(tmp_path, policy) as found:
        found.fork_server.kill("group/x")
        found.fork_server.wait_running(*GROUP, incarnation=2)
        assert [name for what, name in found.notes() if what == "stop"] == ["group/y"]


def test_a_child_that_hangs_in_start_is_killed_at_its_deadline_and_its_siblings_are_looked_after(
    tmp_path: Path,
) -> None:
    policy: dict[str, dict[str, Any]] = {"late": {"start_seconds": 5, "restart": "temporary"}}
    with agent(tmp_path, policy, defaults={"start_seconds": 600}, extra="late", ready=False) as found:
        found.fork_server.wait_running("a", "b", *GROUP)
        found.crash("a", 1)
        found.fork_server.wait_running("a", incarnation=2)
        assert found.fork_server.tree()["late"].state == "starting"
        found.fork_server.wait(lambda: found.fork_server.tree()["late"].state == "down", "the one that hangs is killed")
        late = next(incident for incident in found.incidents() if incident.actor == "late")
        assert (late.cause, late.signal) == ("start_timeout", "SIGKILL")
        assert late.uptime_seconds >= 5


def test_a_start_that_always_times_out_is_a_failure_like_others(tmp_path: Path) -> None:
    policy: dict[str, dict[str, Any]] = {
        "late": QUICK | {"start_seconds": 0.3, "max_restarts": 1},
        "root": {"max_restarts": 0},
    }
    with agent(tmp_path, policy, extra="late", ready=False) as found:
        assert found.fork_server.wait_end(15) == 1
        assert found.causes() == [("late", "start_timeout"), ("late", "start_timeout"), ("root", "exit")]


def test_silence_for_the_heartbeat_is_a_hang_and_zero_means_never(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": {"heartbeat_seconds": 3}, "b": {"heartbeat_seconds": 0}}) as found:
        found.fork_server.kill("b", signal.SIGSTOP)
        start = time.monotonic()
        found.fork_server.kill("a", signal.SIGSTOP)
        found.fork_server.wait_running("a", incarnation=2)
        assert time.monotonic() - start > 1.5
        found.fork_server.wait(
            lambda: found.fork_server.tree()["b"].heartbeat_age > 5, "the other is silent for longer"
        )
        assert found.causes() == [("a", "hang")]
        os.kill(found.pids()["b"], signal.SIGCONT)


def test_the_memory_ceiling_is_kept_and_zero_means_none(tmp_path: Path) -> None:
    with agent(tmp_path, {"a": {"memory_mib": 40}, "b": {"memory_mib": 0}}) as found:
        found.inject("b", "leak", rate=50, seconds=2)
        found.inject("a", "leak", rate=50, seconds=2)
        found.fork_server.wait_running("a", incarnation=2)
        (incident,) = found.incidents()
        assert (incident.actor, incident.cause) == ("a", "memory")
        assert "more than the 40 MiB allowed" in incident.detail
        found.fork_server.wait(
            lambda: found.fork_server.tree()["b"].memory_bytes > 80 * 1024 * 1024, "the other grew further"
        )
        assert found.fork_server.tree()["b"].incarnation == 1


@pytest.mark.parametrize(("auto_shutdown", "ends"), [("none", 3), ("any_significant", 1), ("all_significant", 2)])
def test_a_supervisor_ends_when_its_significant_children_are_done(
    tmp_path: Path, auto_shutdown: str, ends: int
) -> None:
    """group/z is not significant. `ends`: after how many orderly ends; 3: never."""
    significant = {"restart": "transient", "significant": auto_shutdown != "none"}
    policy: dict[str, Any] = {
        "group": {"restart": "transient", "auto_shutdown": auto_shutdown},
        "group/x": significant,
        "group/y": significant,
    }
    with agent(tmp_path, policy) as found:
        for number, name in enumerate(("group/x", "group/y"), 1):
            _end(found, name, "0")
            if number == ends:
                found.fork_server.wait(
                    lambda: found.fork_server.tree()["group"].state == "down", "the supervisor has ended"
                )
                assert ("stop", "group/z") in found.notes()
                break
            found.fork_server.wait(lambda name=name: found.fork_server.tree()[name].state == "down", "it has ended")  # type: ignore[misc]
            assert found.fork_server.tree()["group"].state == "running"
        assert found.causes() == []


def test_a_killed_supervisor_loses_no_time_with_its_children_and_leaves_none(tmp_path: Path) -> None:
    with agent(tmp_path) as found:
        before = found.pids()
        found.fork_server.kill("group")
        found.fork_server.wait_running("group", *GROUP, incarnation=2)
        assert not any(os.path.exists(f"/proc/{before[name]}") for name in GROUP)
        assert [found.pids()[name] for name in ("root", "a", "b")] == [before[name] for name in ("root", "a", "b")]
        assert found.causes() == [("group", "signal")]
