"""Who is evicted first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.eviction_manager.ranking import Contender, ranked


def order(resource, **pods):
    """Each pod as (priority, request, used)."""
    contenders = [
        Contender(uid=uid, priority=priority, request=request, used=used)
        for uid, (priority, request, used) in pods.items()
    ]
    return "".join(one.uid for one in ranked(resource, contenders))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # who uses more than it requests, whatever its priority
        ({"a": (0, 100, 90), "b": (1000, 100, 101)}, "ba"),
        # then low priorities
        ({"a": (5, 0, 900), "b": (4, 0, 10)}, "ba"),
        ({"a": (5, 1000, 10), "b": (4, 1000, 900)}, "ba"),
        # then who uses most over its request
        ({"a": (0, 100, 150), "b": (0, 10, 90)}, "ba"),
        ({"a": (0, 100, 10), "b": (0, 100, 60)}, "ba"),
        # a pod of which nothing is known goes first, of several the one of the lowest priority
        ({"a": (0, 0, 900), "b": (9, 0, None), "c": (3, 0, None)}, "cba"),
        # exactly what it requests is not more
        ({"a": (0, 100, 100), "b": (1, 99, 100)}, "ba"),
    ],
)
def test_by_memory_and_disk(pods, expected):
    assert order("memory", **pods) == order("ephemeral-storage", **pods) == expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ({"a": (5, 0, 900), "b": (4, 0, 10)}, "ba"),
        ({"a": (5, 0, 9), "b": (5, 0, 10)}, "ba"),
        ({"a": (5, 0, 9), "b": (5, 0, None), "c": (4, 0, 1)}, "cba"),
    ],
)
def test_by_process_ids(pods, expected):
    assert order("pids", **pods) == expected


CONTENDERS = st.lists(
    st.builds(
        Contender,
        uid=st.uuids().map(str),
        priority=st.integers(-5, 5),
        request=st.integers(0, 20),
        used=st.none() | st.integers(0, 40),
    ),
    max_size=12,
)


@given(CONTENDERS, st.sampled_from(["memory", "ephemeral-storage", "inodes", "pids"]), st.randoms())
def test_everybody_is_ranked_once_whatever_the_order_they_come_in(contenders, resource, random):
    first = ranked(resource, contenders)
    shuffled = list(contenders)
    random.shuffle(shuffled)

    def strength(one):
        return (one.used is None, one.used is not None and one.used > one.request, one.priority)

    assert sorted(one.uid for one in first) == sorted(one.uid for one in contenders)
    assert list(map(strength, first)) == list(map(strength, ranked(resource, shuffled)))


@given(CONTENDERS)
def test_nobody_within_its_request_goes_before_somebody_who_is_over_it(contenders):
    over = [one.used > one.request for one in ranked("memory", contenders) if one.used is not None]
    assert over == sorted(over, reverse=True)
