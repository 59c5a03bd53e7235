"""Which status is written next: order, pauses, and an API server that is away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.status_manager.api_server.backlog import AT_ONCE, CHANGE, GATHER_SECONDS, TRANSITION, Pause, StatusBacklog
from tests.support.present import present

NO_LUCK = Pause(lambda: 0.0)


def taken(backlog: StatusBacklog, now: float = 0.0) -> list[str]:
    found = []
    while (key := backlog.take(now)) is not None:
        found.append(key)
    return found


def test_transitions_come_first_and_then_the_oldest():
    backlog = StatusBacklog()
    for key, priority in (("a", CHANGE), ("b", CHANGE), ("c", TRANSITION), ("d", TRANSITION)):
        backlog.add(key, priority, 0.0)
    assert taken(backlog, GATHER_SECONDS) == ["c", "d", "a", "b"]


def test_a_minor_change_waits_for_others_but_not_for_ever():
    backlog = StatusBacklog()
    backlog.add("a", CHANGE, 1.0)
    backlog.add("a", CHANGE, 1.4)
    assert backlog.next_due() == 1.5
    assert taken(backlog, 1.49) == []
    assert taken(backlog, 1.5) == ["a"]


def test_a_transition_includes_earlier_changes_of_its_pod():
    backlog = StatusBacklog()
    backlog.add("a", CHANGE, 1.0)
    backlog.add("a", TRANSITION, 1.1)
    assert taken(backlog, 1.1) == ["a"]


def test_a_pod_has_one_entry_and_is_never_in_flight_twice():
    backlog = StatusBacklog()
    backlog.add("a", TRANSITION, 0.0)
    backlog.add("a", TRANSITION, 0.0)
    assert len(backlog) == 1
    assert taken(backlog) == ["a"]
    backlog.add("a", TRANSITION, 0.0)
    assert taken(backlog) == []
    backlog.succeeded("a")
    assert taken(backlog) == ["a"]


def test_only_some_are_in_flight():
    backlog = StatusBacklog()
    for number in range(10):
        backlog.add(str(number), TRANSITION, 0.0)
    assert len(taken(backlog)) == AT_ONCE
    backlog.succeeded("0")
    assert len(taken(backlog)) == 1


def test_a_pod_that_fails_waits_longer_each_time_and_delays_no_other():
    backlog, now, pauses = StatusBacklog(), 0.0, []
    for _ in range(9):
        backlog.add("a", TRANSITION, 0.0)
        assert taken(backlog, now) == ["a"]
        pauses.append(backlog.failed("a", TRANSITION, now, NO_LUCK))
        backlog.add("a", TRANSITION, 0.0)
        assert taken(backlog, now + pauses[-1] - 0.01) == [], "news does not shorten the pause"
        now += pauses[-1]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10, 10], "as long as the period of the kubelet"
    backlog.add("b", TRANSITION, 0.0)
    assert "b" in taken(backlog, now - 1)


def test_the_server_may_ask_for_more_time():
    backlog = StatusBacklog()
    backlog.add("a", TRANSITION, 0.0)
    backlog.take(0.0)
    assert backlog.failed("a", TRANSITION, 0.0, Pause(lambda: 0.0, at_least=7.0)) == 7.0
    assert backlog.next_due() == 7.0


def test_one_write_at_a_time_tries_an_unreachable_server():
    backlog = StatusBacklog()
    for number in range(110):
        backlog.add(str(number), TRANSITION, 0.0)
    first = taken(backlog)
    for key in first:
        backlog.server_failed(key, TRANSITION, 0.0, NO_LUCK)
    assert backlog.away
    assert taken(backlog, 0.4) == []
    assert backlog.next_due() == 0.5
    assert len(taken(backlog, 0.5)) == 1, "those in flight together were one failure"
    assert len(backlog) == 109


def test_an_hour_away_loses_nothing_and_ends_at_once():
    backlog, now, tries = StatusBacklog(), 0.0, 0
    for number in range(110):
        backlog.add(str(number), TRANSITION, 0.0)
    while now < 3600:
        for key in taken(backlog, now):
            tries += 1
            backlog.server_failed(key, TRANSITION, now, NO_LUCK)
        now = present(backlog.next_due())
    assert tries < 800
    backlog.server_is_back()
    done = 0
    while keys := taken(backlog, now):
        assert len(keys) <= AT_ONCE
        done += len(keys)
        for key in keys:
            backlog.succeeded(key)
    assert done == 110


def test_a_dropped_status_is_forgotten_with_its_failures():
    backlog = StatusBacklog()
    for _ in range(3):
        backlog.add("a", TRANSITION, 0.0)
        backlog.take(1e9)
        backlog.failed("a", TRANSITION, 0.0, NO_LUCK)
    backlog.drop("a")
    assert (len(backlog), backlog.next_due()) == (0, None)
    backlog.add("a", TRANSITION, 0.0)
    backlog.take(0.0)
    assert backlog.failed("a", TRANSITION, 0.0, NO_LUCK) == 0.5


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["add", "take", "ok", "fail", "away", "drop", "back"]), st.sampled_from("abcdefgh")),
    max_size=60,
)


@given(ACTIONS)
def test_every_added_status_is_written_in_the_end_in_any_history(actions):
    backlog, now, flying, wanted = StatusBacklog(), 0.0, set(), set()
    for action, key in actions:
        now += 0.3
        if action == "add":
            backlog.add(key, TRANSITION, 0.0)
            wanted.add(key)
        elif action == "take" and (found := backlog.take(now)) is not None:
            assert found not in flying
            flying.add(found)
        elif action in ("ok", "fail", "away") and key in flying:
            flying.discard(key)
            if action == "ok":
                backlog.succeeded(key)
                wanted = {each for each in wanted if each != key or key in backlog._waiting}
            elif action == "fail":
                backlog.failed(key, TRANSITION, now, NO_LUCK)
            else:
                backlog.server_failed(key, TRANSITION, now, NO_LUCK)
        elif action == "drop" and key not in flying:
            backlog.drop(key)
            wanted.discard(key)
        elif action == "back":
            backlog.server_is_back()
        assert len(flying) <= AT_ONCE
    for key in flying:
        backlog.succeeded(key)
    written = set(flying)
    while (due := backlog.next_due()) is not None:
        now = max(now, due)
        key = backlog.take(now)
        assert key is not None
        backlog.succeeded(key)
        written.add(key)
    assert wanted <= written
