"""The outgoing queue: bounds, coalescing, deadlines."""

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.message import Message
from supervision.messaging.outbox import Outbox, QueuedMessage


class Fact(Message, frozen=True):
    number: int


def _entry(number: int, key: Hashable | None = None, deadline: float = 100.0, size: int = 1) -> QueuedMessage:
    return QueuedMessage(Fact(number), bytes(size), deadline, 0, key)


def _numbers(box: Outbox) -> list[int]:
    return [entry.message.number for entry in box]  # type: ignore[attr-defined]


def test_a_newer_message_replaces_the_older_with_its_key_at_its_own_place() -> None:
    box = Outbox()
    for number, key in ((1, "a"), (2, None), (3, "a"), (4, "b")):
        assert box.add(_entry(number, key))
    assert _numbers(box) == [2, 3, 4]


def test_the_mailbox_is_bounded_in_number_and_in_bytes() -> None:
    box = Outbox(max_messages=2, max_bytes=10)
    assert box.add(_entry(1, size=50))  # one is always taken
    assert not box.add(_entry(2))
    box.pop()
    assert [box.add(_entry(n, size=4)) for n in range(3)] == [True, True, False]


def test_a_newer_state_is_taken_in_place_of_the_older_even_when_it_is_full() -> None:
    box = Outbox(max_messages=2)
    assert box.add(_entry(1, "a"))
    assert box.add(_entry(2))
    assert box.add(_entry(3, "a"))
    assert not box.add(_entry(4, "b"))
    assert _numbers(box) == [2, 3]
    bytes_full = Outbox(max_bytes=10)
    assert bytes_full.add(_entry(1, "a"))
    assert bytes_full.add(_entry(2, size=9))
    assert bytes_full.add(_entry(3, "a", size=8))
    assert _numbers(bytes_full) == [2, 3]


def test_messages_past_their_deadline_are_removed() -> None:
    box = Outbox()
    for number, deadline in ((1, 5.0), (2, 3.0), (3, 9.0)):
        box.add(_entry(number, deadline=deadline))
    assert box.earliest == 3.0
    assert [e.message for e in box.expire(5.0)] == [Fact(1), Fact(2)]
    assert _numbers(box) == [3]
    assert box.earliest == 9.0


def test_an_undelivered_message_goes_first_unless_a_newer_one_replaces_it() -> None:
    box = Outbox()
    for number, key in ((1, None), (2, "a"), (3, None)):
        box.add(_entry(number, key))
    taken = [box.pop(), box.pop()]
    box.add(_entry(4, "a"))
    box.put_back(taken)
    assert _numbers(box) == [1, 3, 4]


def test_an_empty_mailbox_pops_nothing() -> None:
    with pytest.raises(KeyError):
        Outbox().pop()


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.sampled_from([None, "a", "b"]), st.integers(1, 5)),
            st.tuples(st.just("pop"), st.none(), st.just(0)),
            st.tuples(st.just("expire"), st.none(), st.integers(1, 5)),
        )
    )
)
def test_bounds_and_keys_of_the_mailbox_hold_in_any_history(steps: list[tuple[str, str | None, int]]) -> None:
    box = Outbox(max_messages=4, max_bytes=1000)
    for number, (what, key, time) in enumerate(steps):
        if what == "add":
            box.add(_entry(number, key, deadline=float(time)))
        elif what == "pop" and len(box):
            box.pop()
        elif what == "expire":
            assert all(entry.deadline <= time for entry in box.expire(float(time)))
        keys = [entry.key for entry in box if entry.key is not None]
        assert len(box) <= 4
        assert len(keys) == len(set(keys))
        assert _numbers(box) == sorted(_numbers(box))
        assert all(entry.deadline >= box.earliest for entry in box)


def test_a_drained_queue_is_empty_and_takes_everything_again() -> None:
    box = Outbox(max_messages=2, max_bytes=10)
    first, second = _entry(1, "a", size=5), _entry(2, size=5)
    assert box.add(first)
    assert box.add(second)
    assert box.drain() == [first, second]
    assert (len(box), _numbers(box), box.earliest) == (0, [], float("inf"))
    assert [box.add(_entry(number, "a", size=5)) for number in (3, 4)] == [True, True]
    assert _numbers(box) == [4], "the drained entry of that key is not replaced again"
    assert box.add(_entry(5, size=5)), "the drained bytes do not count"


def test_a_queue_takes_exactly_its_bytes() -> None:
    box = Outbox(max_messages=9, max_bytes=10)
    assert [box.add(_entry(number, size=5)) for number in range(3)] == [True, True, False]
