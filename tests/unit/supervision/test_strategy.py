import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.spec import Strategy
from supervision.strategy import group, stop_order

FOUR = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("strategy", "stopped", "started"),
    [
        ("one_for_one", (), ("b",)),
        ("one_for_all", ("d", "c", "a"), ("a", "b", "c", "d")),
        ("rest_for_one", ("d", "c"), ("b", "c", "d")),
    ],
)
def test_who_is_stopped_and_started_when_the_second_of_four_fails(
    strategy: Strategy, stopped: tuple[str, ...], started: tuple[str, ...]
) -> None:
    assert stop_order(strategy, FOUR, "b") == stopped
    assert group(strategy, FOUR, "b") == started


@given(
    st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True),
    st.data(),
)
def test_starting_is_in_listed_order_and_stopping_in_reverse(
    strategy: Strategy, children: list[str], data: st.DataObject
) -> None:
    failed = data.draw(st.sampled_from(children))
    started = group(strategy, children, failed)
    assert list(started) == [name for name in children if name in started]
    assert failed in started
    assert stop_order(strategy, children, failed) == tuple(n for n in reversed(started) if n != failed)
