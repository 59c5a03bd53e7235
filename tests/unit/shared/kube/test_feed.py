"""Lists and changes that overtake each other."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.feed import KEEP_SECONDS, FeedOrder, uid_of


def pod(uid: str, version: int = 0) -> bytes:
    return f'{{"metadata":{{"uid":"{uid}","resourceVersion":"{version}"}}}}'.encode()


def test_a_list_that_was_overtaken_does_not_undo_the_change() -> None:
    order = FeedOrder()
    assert order.change(2, "a", pod("a", 9))
    assert order.change(3, "b", b"")
    assert order.full(1, [pod("a", 1), pod("b", 1), pod("c", 1)]) == [pod("c", 1), pod("a", 9)]


def test_an_older_list_and_an_older_change_are_no_news() -> None:
    order = FeedOrder()
    assert order.full(5, [pod("a")]) == [pod("a")]
    assert order.full(4, []) is None
    assert not order.change(4, "a", b"")
    assert order.change(7, "a", b"")
    assert not order.change(6, "a", pod("a"))


def test_a_sender_that_does_not_count_is_taken_as_it_comes() -> None:
    order = FeedOrder()
    assert order.full(0, [pod("a")]) == [pod("a")]
    assert order.change(0, "a", b"")
    assert order.change(0, "a", pod("a"))
    assert order.full(0, []) == []


def test_changes_are_forgotten_when_nothing_can_be_under_way() -> None:
    now = [0.0]
    order = FeedOrder(lambda: now[0])
    order.change(1, "a", b"")
    now[0] = KEEP_SECONDS
    order.change(2, "b", b"")
    assert list(order._changes) == ["b"]


def test_what_is_no_object_has_no_uid() -> None:
    assert uid_of(b"nonsense") == ""
    assert uid_of(b'{"metadata":{}}') == ""


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12), st.integers(0, 2**32))
def test_whatever_overtakes_whatever_the_end_is_the_same(steps: list[tuple[str, bool]], seed: int) -> None:
    """A list at the start and one in the middle; small messages may come before a list sent earlier."""
    truth: dict[str, bytes] = {"a": pod("a")}
    sent: list[tuple[int, str, object]] = [(1, "full", list(truth.values()))]
    for number, (uid, there) in enumerate(steps, 2):
        if there:
            truth[uid] = pod(uid, number)
        else:
            truth.pop(uid, None)
        sent.append((number, uid, truth.get(uid, b"")))
        if number == len(steps) // 2:
            sent.append((number, "full", list(truth.values())))
    rng = random.Random(seed)
    lists = [each for each in sent if each[1] == "full"]
    small = [each for each in sent if each[1] != "full"]
    order, seen, late = FeedOrder(), {}, []
    arrivals = []
    for each in sent:
        if each in lists:
            late.append(each)
        else:
            while late and rng.random() < 0.4:
                arrivals.append(late.pop(0))
            arrivals.append(each)
    arrivals += late
    assert len(arrivals) == len(lists) + len(small)
    for revision, kind, data in arrivals:
        if kind == "full":
            pods = order.full(revision, data)
            if pods is not None:
                seen = {uid_of(each): each for each in pods}
        elif order.change(revision, kind, data):
            if data:
                seen[kind] = data
            else:
                seen.pop(kind, None)
    assert seen == truth
