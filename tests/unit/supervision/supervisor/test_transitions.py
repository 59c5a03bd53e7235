"""A supervisor's decisions, against a world that obeys its orders: no process, no clock, no randomness of its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervision.process_messages import EXIT_ESCALATED, Cause, Exited, Started, Stop
from supervision.supervisor.children import ChildEvent, ChildPhase, Ending, wake_at
from supervision.supervisor.transitions import FORK_RETRY_SECONDS, TRANSITIONS, Finish, StopRequested
from tests.support.examples import examples
from tests.support.obedient_world import EXIT_1, SIGKILLED, ObedientWorld, make, special


class TestStarting:
    def test_children_are_started_in_listed_order(self) -> None:
        assert ObedientWorld(make()).start().take_orders() == ["+a", "+b", "+c", "+d"]

    def test_a_child_that_hangs_in_start_does_not_keep_the_others_back(self) -> None:
        world = ObedientWorld(make())
        world.hung_in_start = {"a"}
        world.start()
        assert world.phases() == "a=starting b=running c=running d=running"
        world.exit("c")
        assert world.take_orders()[-1] == "+c"

    def test_a_child_that_the_fork_server_did_not_kill_at_its_deadline_is_killed_and_started_again(self) -> None:
        world = ObedientWorld(make("ab", start_seconds=10))
        world.hung_in_start = {"a"}
        world.start()
        world.take_orders()
        world.pass_time(11.9)
        assert world.take_orders() == []
        world.pass_time(0.2)
        assert [o for o in world.orders if isinstance(o, Stop)] == [Stop("a", 0.0, "start_timeout")]
        assert world.take_orders() == ["-a", "+a"]

    def test_every_order_is_repeated_until_its_fact_comes(self) -> None:
        world = ObedientWorld(make("a", start_seconds=10, shutdown_seconds=5))
        world.obey = False
        world.start()
        world.pass_time(30)
        assert world.take_orders() == ["+a", *["-a"] * 10]

    @pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
    def test_a_child_for_which_the_host_has_no_process_is_tried_again_without_end_and_costs_no_other(
        self, strategy: str
    ) -> None:
        own = {"strategy": strategy, "total_restarts": 2}
        world = ObedientWorld(make("abc", own, max_restarts=1, period_seconds=600, backoff_seconds=0.5)).start()
        world.no_room_for = {"b"}
        if strategy == "one_for_one":
            world.exit("b")
        else:
            world = ObedientWorld(make("abc", own, max_restarts=1, period_seconds=600, backoff_seconds=0.5))
            world.no_room_for = {"b"}
            world.start()
        world.take_orders()
        world.pass_time(300)
        orders = world.take_orders()
        assert set(orders) == {"+b"}, "no other child is stopped, and nobody gives up"
        assert len(orders) >= 300 / FORK_RETRY_SECONDS
        world.no_room_for = set()
        world.pass_time(FORK_RETRY_SECONDS)
        assert world.phases() == "a=running b=running c=running"


class TestStrategies:
    @pytest.mark.parametrize(
        ("strategy", "orders"),
        [
            ("one_for_one", ["+b"]),
            ("one_for_all", ["-d", "-c", "-a", "+a", "+b", "+c", "+d"]),
            ("rest_for_one", ["-d", "-c", "+b", "+c", "+d"]),
        ],
    )
    def test_the_orders_when_the_second_of_four_fails(self, strategy: str, orders: list[str]) -> None:
        world = ObedientWorld(make(own={"strategy": strategy})).start()
        world.take_orders()
        world.exit("b")
        assert world.take_orders() == orders

    def test_the_next_sibling_is_only_stopped_when_the_one_before_has_ended(self) -> None:
        world = ObedientWorld(make("abc", own={"strategy": "one_for_all"})).start()
        world.ignores_stop = {"c"}
        world.take_orders()
        world.exit("a")
        assert world.take_orders() == ["-c"]
        world.exit("c", SIGKILLED, "stopped")
        assert world.take_orders() == ["-b", "+a", "+b", "+c"]

    def test_siblings_stopped_for_the_group_do_not_count_as_failures(self) -> None:
        world = ObedientWorld(make("abc", own={"strategy": "one_for_all"}, max_restarts=2)).start()
        world.exit("a")
        world.exit("a")
        assert world.state.ending is Ending.NO
        assert [len(child.restarts.restarts) for child in world.state.children] == [2, 0, 0]

    def test_an_earlier_sibling_failing_meanwhile_widens_the_group(self) -> None:
        world = ObedientWorld(make("abc", own={"strategy": "rest_for_one"})).start()
        world.ignores_stop = {"c"}
        world.exit("b")
        world.take_orders()
        world.exit("a")
        world.exit("c", SIGKILLED, "stopped")
        assert world.take_orders() == ["+a", "+b", "+c"]

    def test_a_temporary_sibling_stopped_with_its_group_is_not_started_again(self) -> None:
        world = ObedientWorld(special(make("abc", own={"strategy": "one_for_all"}), "b", restart="temporary")).start()
        world.take_orders()
        world.exit("a")
        assert world.take_orders() == ["-c", "-b", "+a", "+c"]

    def test_a_transient_sibling_that_had_ended_is_started_with_its_group(self) -> None:
        world = ObedientWorld(special(make("abc", own={"strategy": "one_for_all"}), "b", restart="transient")).start()
        world.exit("b", 0)
        world.take_orders()
        world.exit("a")
        assert world.take_orders() == ["-c", "+a", "+b", "+c"]


ABNORMAL = [(EXIT_1, "exit"), (SIGKILLED, "signal"), (70 << 8, "exception"), (SIGKILLED, "hang"), (SIGKILLED, "memory")]


class TestRestartTypes:
    @pytest.mark.parametrize(("status", "cause"), [(0, "exit"), *ABNORMAL])
    def test_permanent_is_always_restarted(self, status: int, cause: str) -> None:
        world = ObedientWorld(make("a", restart="permanent")).start()
        world.exit("a", status, cause)
        assert world.take_orders() == ["+a", "+a"]

    @pytest.mark.parametrize(("status", "cause"), ABNORMAL)
    def test_transient_is_restarted_when_it_failed(self, status: int, cause: str) -> None:
        world = ObedientWorld(make("a", restart="transient")).start()
        world.exit("a", status, cause)
        assert world.take_orders() == ["+a", "+a"]

    def test_transient_is_not_restarted_after_an_orderly_end(self) -> None:
        world = ObedientWorld(make("a", restart="transient")).start()
        world.exit("a", 0)
        assert world.phases() == "a=gone"

    @pytest.mark.parametrize(("status", "cause"), [(0, "exit"), *ABNORMAL])
    def test_temporary_is_never_restarted(self, status: int, cause: str) -> None:
        world = ObedientWorld(make("a", restart="temporary")).start()
        world.exit("a", status, cause)
        assert world.phases() == "a=gone"
        assert world.state.ending is Ending.NO


class TestBackoffAndIntensity:
    def test_pauses_between_restarts_double(self) -> None:
        world = ObedientWorld(make("a", max_restarts=100)).start()
        pauses = []
        for _ in range(5):
            before = world.now
            world.exit("a")
            while "a" not in world.living:
                wake = wake_at(world.state)
                assert wake is not None
                world.pass_time(wake - world.now)
            pauses.append(world.now - before)
        assert pauses == pytest.approx([0, 0.05, 0.1, 0.2, 0.4])

    def test_a_long_uptime_makes_the_next_restart_immediate(self) -> None:
        world = ObedientWorld(make("a", max_restarts=100, backoff_reset_seconds=10)).start()
        for _ in range(3):
            world.exit("a")
            world.pass_time(5)
        world.pass_time(10)
        world.take_orders()
        world.exit("a")
        assert world.take_orders() == ["+a"]

    @pytest.mark.parametrize("most", [0, 1, 3])
    def test_a_crash_loop_ends_it_after_exactly_one_exit_more_than_allowed(self, most: int) -> None:
        world = ObedientWorld(make("ab", max_restarts=most, period_seconds=60)).start()
        exits = 0
        while world.state.ending is Ending.NO:
            world.exit("a")
            exits += 1
            world.pass_time(5)
        assert exits == most + 1
        assert world.take_orders()[-2:] == ["-b", f"finish {EXIT_ESCALATED}"]
        times = "once" if most == 0 else f"{most + 1} times in 60 s"
        assert world.state.reason == f"a failed {times}, more than the {most} restarts allowed"

    def test_each_child_has_its_own_count(self) -> None:
        world = ObedientWorld(make("abc", max_restarts=1)).start()
        for name in "abc":
            world.exit(name)
        assert world.state.ending is Ending.NO

    def test_the_total_counts_all_children_together(self) -> None:
        world = ObedientWorld(make("abc", own={"total_restarts": 2, "total_period_seconds": 30})).start()
        world.exit("a")
        world.exit("b")
        after_two = world.state.ending
        world.exit("c")
        assert (after_two, world.state.ending) == (Ending.NO, Ending.ESCALATED)
        assert "its children failed 3 times in 30 s" in world.state.reason

    def test_restarts_far_apart_never_escalate(self) -> None:
        world = ObedientWorld(make("a", max_restarts=1, period_seconds=10)).start()
        for _ in range(20):
            world.exit("a")
            world.pass_time(11)
        assert world.state.ending is Ending.NO

    def test_a_start_that_times_out_counts(self) -> None:
        world = ObedientWorld(make("a", max_restarts=1, start_seconds=10, period_seconds=60))
        world.hung_in_start = {"a"}
        world.start()
        world.pass_time(30)
        assert world.state.ending is Ending.ESCALATED


class TestEnding:
    def test_children_are_stopped_in_reverse_order_each_when_the_one_before_has_ended(self) -> None:
        world = ObedientWorld(make("abc")).start()
        world.ignores_stop = {"b"}
        world.take_orders()
        world.say(StopRequested())
        assert world.take_orders() == ["-c", "-b"]
        world.exit("b", 0, "stopped")
        assert world.take_orders() == ["-a", "finish 0"]

    def test_a_child_in_its_pause_is_not_started_when_it_ends(self) -> None:
        world = ObedientWorld(make("ab", max_restarts=100)).start()
        world.exit("b")
        world.exit("b")
        assert world.phases() == "a=running b=waiting"
        world.take_orders()
        world.say(StopRequested())
        world.pass_time(60)
        assert world.take_orders()[:2] == ["-a", "finish 0"]
        assert world.living == {}

    def test_a_repeated_question_changes_nothing(self) -> None:
        world = ObedientWorld(make("ab")).start()
        world.ignores_stop = {"b"}
        world.take_orders()
        world.say(StopRequested())
        world.say(StopRequested())
        assert world.take_orders() == ["-b"]

    def test_a_child_that_crashes_while_it_is_stopped_is_stopped(self) -> None:
        world = ObedientWorld(make("ab")).start()
        world.ignores_stop = {"b"}
        world.say(StopRequested())
        world.exit("b", 70 << 8, "exception")
        assert world.take_orders()[-2:] == ["-a", "finish 0"]

    @pytest.mark.parametrize(
        ("auto_shutdown", "exits", "finished"),
        [("none", "abc", False), ("any_significant", "a", True), ("all_significant", "a", False)],
    )
    def test_auto_shutdown(self, auto_shutdown: str, exits: str, finished: bool) -> None:
        state = make("abc", own={"auto_shutdown": auto_shutdown}, restart="transient", significant=True)
        world = ObedientWorld(state).start()
        for name in exits:
            world.exit(name, 0)
        assert (world.take_orders()[-1] == "finish 0") == finished

    def test_all_significant_waits_for_the_last_and_ignores_the_insignificant(self) -> None:
        state = make("abc", own={"auto_shutdown": "all_significant"}, restart="transient", significant=True)
        world = ObedientWorld(special(state, "c", significant=False)).start()
        world.exit("a", 0)
        assert world.state.ending is Ending.NO
        world.exit("b", 0)
        assert world.take_orders()[-2:] == ["-c", "finish 0"]

    def test_a_significant_child_that_failed_is_restarted_and_does_not_end_it(self) -> None:
        state = make("ab", own={"auto_shutdown": "any_significant"}, restart="transient", significant=True)
        world = ObedientWorld(state).start()
        world.exit("a", EXIT_1)
        assert world.state.ending is Ending.NO


class TestOldNews:
    def test_a_child_that_was_stopped_from_above_is_not_started_again(self) -> None:
        """The fork server stops the whole tree child by child while the supervisor still lives."""
        world = ObedientWorld(make("ab")).start()
        world.take_orders()
        world.exit("b", 0, "stopped")
        world.pass_time(60)
        assert world.take_orders() == []

    def test_an_exit_of_an_older_incarnation_changes_nothing(self) -> None:
        world = ObedientWorld(make("a")).start()
        world.exit("a")
        world.take_orders()
        world.say(Exited("a", 1, 1, EXIT_1, "exit"))
        assert world.take_orders() == []
        assert world.phases() == "a=running"

    def test_an_exit_reported_twice_counts_once(self) -> None:
        world = ObedientWorld(make("a")).start()
        news = Exited("a", world.living["a"], 1, EXIT_1, "exit")
        world.exit("a")
        world.say(news)
        world.say(news)
        child = world.state.child("a")
        assert child is not None
        assert len(child.restarts.restarts) == 1

    def test_a_child_of_another_supervisor_is_ignored(self) -> None:
        world = ObedientWorld(make("a")).start()
        world.take_orders()
        world.say(Exited("z", 1, 1, EXIT_1, "exit"))
        assert world.take_orders() == []

    @pytest.mark.parametrize("cause", ["start_timeout", "stopped"])
    def test_an_order_that_finds_no_process_is_answered_with_the_last_end_and_ends_the_wait(self, cause: Cause) -> None:
        world = ObedientWorld(make("a", start_seconds=1))
        world.obey = False
        world.start()
        world.pass_time(3)
        if cause == "stopped":
            world.say(StopRequested())
        else:
            world.obey, world.incarnations = True, {"a": 1}
        world.say(Exited("a", 1, 0, 0, cause))
        assert world.phases() == ("a=running" if world.obey else "a=gone")

    def test_a_late_answer_about_an_end_that_is_known_ends_no_wait(self) -> None:
        """The next process lives: who believed that it has ended would start another beside it."""
        world = ObedientWorld(make("a")).start()
        world.exit("a")
        world.ignores_stop = {"a"}
        world.say(StopRequested())
        world.say(Exited("a", 1, 0, 0, "stopped"))
        assert world.phases() == "a=stopping"

    def test_a_start_that_is_told_late_is_a_start(self) -> None:
        """The deadline passed while this supervisor stood still; the event was in its mailbox."""
        world = ObedientWorld(make("a", start_seconds=1))
        world.obey = False
        world.start()
        world.pass_time(3)
        assert world.take_orders() == ["+a", "-a"]
        world.say(Started("a", 1, 7, 0.5))
        world.pass_time(60)
        assert (world.phases(), world.take_orders()) == ("a=running", [])


def test_every_phase_handles_or_ignores_each_event() -> None:
    assert set(TRANSITIONS) == set(ChildPhase)
    assert all(set(rules) <= set(ChildEvent) for rules in TRANSITIONS.values())
    for phase in (ChildPhase.STARTING, ChildPhase.RUNNING, ChildPhase.STOPPING):
        assert {ChildEvent.ENDED, ChildEvent.FAILED} <= set(TRANSITIONS[phase])


names = st.sampled_from("abcd")
events = st.one_of(
    st.tuples(st.just("exit"), names, st.sampled_from([0, EXIT_1, SIGKILLED])),
    st.tuples(st.just("pass"), st.floats(0, 20), st.none()),
    st.tuples(st.just("hang"), names, st.booleans()),
    st.tuples(st.just("deaf"), names, st.booleans()),
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    st.lists(st.sampled_from(["permanent", "transient", "temporary"]), min_size=4, max_size=4),
    st.lists(events, max_size=40),
    st.booleans(),
)
def test_the_supervisor_settles_after_any_failures_in_any_order(
    strategy: str, restarts: list[str], schedule: list[Any], stop: bool
) -> None:
    """After any schedule and a quiet time all permanent children run, or the supervisor ended and none is alive."""
    state = make(own={"strategy": strategy}, max_restarts=3, period_seconds=20)
    for name, restart in zip("abcd", restarts, strict=True):
        state = special(state, name, restart=restart)
    world = ObedientWorld(state).start()
    for what, argument, value in schedule:
        if what == "exit" and argument in world.living:
            world.exit(argument, value)
        elif what == "pass":
            world.pass_time(argument)
        elif what in ("hang", "deaf"):
            chosen = world.hung_in_start if what == "hang" else world.ignores_stop
            (chosen.add if value else chosen.discard)(argument)
        child = {c.name: c for c in world.state.children}
        assert all(child[name].alive for name in world.living), "a process that no phase accounts for"
        assert all(len(c.restarts.restarts) <= 4 for c in world.state.children)
    world.hung_in_start.clear()
    if stop:
        world.say(StopRequested())
    world.pass_time(120)
    if world.state.ending is Ending.NO:
        running = {c.name for c in world.state.children if c.phase is ChildPhase.RUNNING}
        assert running == set(world.living)
        assert all(c.phase is ChildPhase.RUNNING for c in world.state.children if c.policy.restart == "permanent")
    else:
        assert world.living == {}
        assert any(isinstance(order, Finish) for order in world.orders)
        assert stop or world.state.ending is Ending.ESCALATED


def test_a_rolling_restart_starts_the_child_again_at_once_and_counts_nothing() -> None:
    world = ObedientWorld(make(max_restarts=0, strategy="one_for_all")).start()
    for incarnation in range(2, 8):
        world.exit("b", 0, "restarting")
        assert world.incarnations == {"a": 1, "b": incarnation, "c": 1, "d": 1}
    assert world.state.ending is Ending.NO


def test_a_rolling_restart_includes_temporary_children_and_starts_none_while_the_supervisor_ends() -> None:
    world = ObedientWorld(make(restart="temporary")).start()
    world.exit("b", SIGKILLED, "restarting")
    assert world.incarnations["b"] == 2
    world.ignores_stop = {"a"}
    world.say(StopRequested())
    world.exit("a", 0, "restarting")
    assert world.living == {}
    assert world.incarnations["a"] == 1


def test_a_supervisor_that_has_given_up_still_has_when_it_is_stopped_meanwhile() -> None:
    world = ObedientWorld(make("ab", max_restarts=0)).start()
    world.ignores_stop = {"b"}
    world.exit("a")
    world.say(StopRequested())
    world.pass_time(60)
    assert world.take_orders()[-1] == f"finish {EXIT_ESCALATED}"


def test_the_orderly_end_of_a_significant_child_does_not_hide_that_its_supervisor_has_given_up() -> None:
    state = make("ab", own={"auto_shutdown": "any_significant"}, max_restarts=0)
    world = ObedientWorld(special(state, "b", restart="transient", significant=True)).start()
    world.ignores_stop = {"b"}
    world.exit("a")
    world.exit("b", 0)
    assert world.take_orders()[-1] == f"finish {EXIT_ESCALATED}"


@pytest.mark.parametrize("cause", ["exit", "restarting"])
def test_a_transient_child_that_ends_before_it_is_stopped_with_its_group_is_restarted_once_with_it(cause: str) -> None:
    world = ObedientWorld(special(make("abc", own={"strategy": "one_for_all"}), "b", restart="transient")).start()
    world.ignores_stop = {"c"}
    world.exit("a")
    world.exit("b", 0, cause)
    assert world.incarnations["b"] == 1
    world.pass_time(60)
    assert world.phases() == "a=running b=running c=running"
    assert world.incarnations == {"a": 2, "b": 2, "c": 2}
