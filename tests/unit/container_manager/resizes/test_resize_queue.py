"""The order in which resizes that wait get room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.resizes.resize_queue import ResizeQueue, WaitingResize
from actors.shared.admission.request import Demand


def demand(uid: str, cpu: int, qos: str = "Burstable", priority: int | None = None) -> Demand:
    return Demand(uid, {"cpu": cpu, "memory": 100}, frozenset(), qos, priority)


def resize(
    uid: str, cpu: int = 200, qos: str = "Burstable", priority: int | None = None, since: float = 10.0
) -> WaitingResize:
    return WaitingResize(demand(uid, 100, qos, priority), demand(uid, cpu, qos, priority), since)


def order(*resizes: WaitingResize) -> list[str]:
    queue = ResizeQueue()
    for one in resizes:
        queue.put(one)
    return [one.uid for one in queue.ordered()]


def test_pods_that_ask_for_no_more_resources_come_first() -> None:
    assert order(resize("high", priority=1000), resize("less", cpu=50), resize("same", cpu=100, since=11.0)) == [
        "less",
        "same",
        "high",
    ]


def test_priority_comes_before_the_class_and_the_class_before_the_age() -> None:
    assert order(
        resize("old", since=1.0),
        resize("guaranteed", qos="Guaranteed", since=9.0),
        resize("high", priority=1, since=8.0),
        resize("new", since=0.0),
    ) == ["high", "guaranteed", "old", "new"]


def test_a_pods_later_request_replaces_its_earlier_one() -> None:
    queue = ResizeQueue()
    queue.put(resize("a", cpu=200))
    queue.put(resize("a", cpu=300))
    assert [one.after.requests["cpu"] for one in queue.ordered()] == [300]
    assert queue.drop("a") is not None
    assert queue.drop("a") is None
    assert queue.ordered() == []


RESIZES = st.builds(
    resize,
    uid=st.uuids().map(str),
    cpu=st.integers(0, 300),
    qos=st.sampled_from(["Guaranteed", "Burstable"]),
    priority=st.none() | st.integers(-5, 5),
    since=st.floats(0.0, 100.0),
)


@given(st.lists(RESIZES, unique_by=lambda one: one.uid))
def test_no_resize_is_lost_or_precedes_one_of_a_higher_priority(resizes: list[WaitingResize]) -> None:
    found = order(*resizes)
    by_uid = {one.uid: one for one in resizes}
    assert sorted(found) == sorted(by_uid)
    keys = [(by_uid[uid].increases, -(by_uid[uid].after.priority or 0)) for uid in found]
    assert keys == sorted(keys)
