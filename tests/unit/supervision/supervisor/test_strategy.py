import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.spec import Strategy
from supervision.supervisor.strategy import group

FOUR = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("strategy", "started"),
    [
        ("one_for_one", ("b",)),
        ("one_for_all", ("a", "b", "c", "d")),
        ("rest_for_one", ("b", "c", "d")),
    ],
)
def test_the_children_that_restart_when_the_second_of_four_fails(strategy: Strategy, started: tuple[str, ...]) -> None:
    assert group(strategy, FOUR, "b") == started


@given(
    st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True),
    st.data(),
)
def test_starting_is_in_listed_order(strategy: Strategy, children: list[str], data: st.DataObject) -> None:
    failed = data.draw(st.sampled_from(children))
    started = group(strategy, children, failed)
    assert list(started) == [name for name in children if name in started]
    assert failed in started
