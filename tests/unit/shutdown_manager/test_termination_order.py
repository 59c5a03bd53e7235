"""Whose turn it is to end, while the node is shut down."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.fields.shutdown_windows import Window
from actors.shutdown_manager.termination_order import REPEAT_SECONDS, Order, TerminationOrder, group
from actors.status_manager.messages import LivePod

CRITICAL = 2_000_000_000
TWO = (Window(0, 20), Window(CRITICAL, 10))


def pod(uid: str, priority: int = 0, grace: int = 30, *, finished: bool = False) -> LivePod:
    return LivePod(
        uid=uid, full_name=f"{uid}_default", static=False, priority=priority, grace_seconds=grace, finished=finished,
        status_written=finished,
    )  # fmt: skip


def ended(one: LivePod) -> LivePod:
    return msgspec.structs.replace(one, finished=True)


def told(orders: list[Order]) -> dict[str, int]:
    return {order.pod.uid: order.grace_seconds for order in orders}


def test_the_group_of_low_priority_ends_first_and_the_critical_one_waits() -> None:
    low, high = pod("low"), pod("high", CRITICAL)
    ending = TerminationOrder(TWO, 100.0)
    assert told(ending.step([low, high], 100.0)) == {"low": 20}
    assert told(ending.step([low, high], 105.0)) == {"low": 20}  # again, and no less
    assert told(ending.step([ended(low), high], 106.0)) == {"high": 10}
    over_before = ending.over
    assert ending.step([ended(low), ended(high)], 107.0) == []
    assert (over_before, ending.over, ending.late) == (False, True, [])


def test_only_the_first_order_of_a_pod_is_marked_as_such() -> None:
    ending = TerminationOrder(TWO, 0.0)
    assert [order.first for at in (0.0, REPEAT_SECONDS) for order in ending.step([pod("low")], at)] == [True, False]


def test_a_pod_has_at_most_its_own_grace_period() -> None:
    assert told(TerminationOrder(TWO, 0.0).step([pod("quick", grace=3)], 0.0)) == {"quick": 3}


def test_no_group_is_waited_for_after_its_window() -> None:
    low, high = pod("low"), pod("high", CRITICAL)
    ending = TerminationOrder(TWO, 0.0)
    ending.step([low, high], 0.0)
    assert told(ending.step([low, high], 20.0)) == {"low": 20, "high": 10}
    assert [one.uid for one in ending.late] == ["low"]
    ending.step([low, high], 30.0)
    assert ending.over
    assert [one.uid for one in ending.late] == ["low", "high"]


def test_windows_of_no_length_take_no_time_and_still_end_their_pods() -> None:
    ending = TerminationOrder((Window(0, 0), Window(5, 0), Window(10, 5)), 0.0)
    pods = [pod("low"), pod("middle", 5), pod("high", 10)]
    assert told(ending.step(pods, 0.0)) == {"low": 0, "middle": 0, "high": 5}
    assert [one.uid for one in ending.late] == ["low", "middle"]
    ending = TerminationOrder((Window(0, 0), Window(5, 0)), 0.0)
    assert told(ending.step(pods[:2], 0.0)) == {"low": 0, "middle": 0}
    assert ending.over


def test_a_late_look_makes_the_whole_no_longer() -> None:
    ending = TerminationOrder(TWO, 0.0)
    low, high = pod("low"), pod("high", CRITICAL)
    ending.step([low, high], 0.0)
    assert told(ending.step([low, high], 20.9))["high"] == 10
    ending.step([low, high], 30.0)
    assert ending.over


def test_orders_are_repeated_but_not_at_each_look() -> None:
    ending = TerminationOrder(TWO, 0.0)
    assert ending.step([pod("a")], 0.0)
    assert not ending.step([pod("a")], REPEAT_SECONDS / 2)
    assert ending.step([pod("a")], REPEAT_SECONDS)


def test_a_pod_that_appears_after_its_window_is_ended_too() -> None:
    ending = TerminationOrder(TWO, 0.0)
    assert told(ending.step([pod("high", CRITICAL)], 0.0)) == {"high": 10}
    assert told(ending.step([pod("high", CRITICAL), pod("late")], 4.5)) == {"high": 10, "late": 6}


def test_windows_do_not_end_early_while_unknown_pods_may_exist_and_known_pods_are_ended() -> None:
    ending = TerminationOrder(TWO, 0.0)
    assert told(ending.step([pod("low")], 0.0, complete=False)) == {"low": 20}
    assert ending.step([ended(pod("low"))], 19.9, complete=False) == []
    assert told(ending.step([pod("low"), pod("more")], 19.9, complete=False)) == {"low": 20, "more": 1}
    assert ending.step([pod("high", CRITICAL, finished=True)], 20.0, complete=False) == []
    ending.step([], 30.0, complete=False)
    assert ending.over


def test_a_pod_belongs_to_the_highest_window_that_is_not_above_it() -> None:
    many = (Window(0, 1), Window(100, 1), Window(CRITICAL, 1))
    assert [group(priority, many) for priority in (-10, 0, 99, 100, CRITICAL - 1, CRITICAL, CRITICAL + 1000)] == [
        0, 0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


_PODS = st.lists(
    st.builds(pod, st.sampled_from("abcdefgh"), st.integers(-5, 30), st.integers(0, 60)),
    unique_by=lambda one: one.uid,
)
_WINDOWS = st.lists(
    st.builds(Window, st.integers(0, 20), st.integers(0, 9).map(float)), min_size=1, max_size=4,
    unique_by=lambda one: one.priority,
).map(lambda found: tuple(sorted(found, key=lambda one: one.priority)))  # fmt: skip


@given(_WINDOWS, _PODS, st.data())
def test_however_pods_end_all_are_reported_in_order_and_in_time(
    windows: tuple[Window, ...], pods: list[LivePod], data: st.DataObject
) -> None:
    ending, now = TerminationOrder(windows, 0.0), 0.0
    first: dict[str, float] = {}
    looks = 0
    while not ending.over:
        for order in ending.step(pods, now):
            first.setdefault(order.pod.uid, now)
            assert 0 <= order.grace_seconds <= order.pod.grace_seconds
        assert looks < 1000
        looks, now = looks + 1, now + 0.5
        pods = [ended(one) if one.uid in first and data.draw(st.booleans()) else one for one in pods]
    assert now <= sum(window.seconds for window in windows) + 1
    assert set(first) == {one.uid for one in pods}
    for one in pods:
        for other in pods:
            if group(one.priority, windows) < group(other.priority, windows):
                assert first[one.uid] <= first[other.uid]
