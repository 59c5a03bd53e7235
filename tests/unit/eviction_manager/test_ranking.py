"""The order in which pods are evicted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.eviction_manager.ranking import EvictionCandidate, ranked


def order(resource, **pods):
    """Each pod as (priority, request, used)."""
    candidates = [
        EvictionCandidate(uid=uid, priority=priority, request=request, used=used)
        for uid, (priority, request, used) in pods.items()
    ]
    return "".join(one.uid for one in ranked(resource, candidates))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # pods that use more than they request, whatever their priority
        ({"a": (0, 100, 90), "b": (1000, 100, 101)}, "ba"),
        # then lower priorities
        ({"a": (5, 0, 900), "b": (4, 0, 10)}, "ba"),
        ({"a": (5, 1000, 10), "b": (4, 1000, 900)}, "ba"),
        # then the largest usage over the request
        ({"a": (0, 100, 150), "b": (0, 10, 90)}, "ba"),
        ({"a": (0, 100, 10), "b": (0, 100, 60)}, "ba"),
        # pods with unknown usage come first, the lowest priority before the others
        ({"a": (0, 0, 900), "b": (9, 0, None), "c": (3, 0, None)}, "cba"),
        # a usage equal to the request is not over it
        ({"a": (0, 100, 100), "b": (1, 99, 100)}, "ba"),
    ],
)
def test_pods_are_ranked_by_memory_and_disk(pods, expected):
    assert order("memory", **pods) == order("ephemeral-storage", **pods) == expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ({"a": (5, 0, 900), "b": (4, 0, 10)}, "ba"),
        ({"a": (5, 0, 9), "b": (5, 0, 10)}, "ba"),
        ({"a": (5, 0, 9), "b": (5, 0, None), "c": (4, 0, 1)}, "cba"),
    ],
)
def test_pods_are_ranked_by_process_ids(pods, expected):
    assert order("pids", **pods) == expected


CONTENDERS = st.lists(
    st.builds(
        EvictionCandidate,
        uid=st.uuids().map(str),
        priority=st.integers(-5, 5),
        request=st.integers(0, 20),
        used=st.none() | st.integers(0, 40),
    ),
    max_size=12,
)


@given(CONTENDERS, st.sampled_from(["memory", "ephemeral-storage", "inodes", "pids"]), st.randoms())
def test_each_pod_is_ranked_once_in_any_order_of_input(candidates, resource, random):
    first = ranked(resource, candidates)
    shuffled = list(candidates)
    random.shuffle(shuffled)

    def strength(one):
        over_request = resource != "pids" and one.used is not None and one.used > one.request
        return (one.used is None, over_request, one.priority)

    assert sorted(one.uid for one in first) == sorted(one.uid for one in candidates)
    assert list(map(strength, first)) == list(map(strength, ranked(resource, shuffled)))


@given(CONTENDERS)
def test_no_pod_within_its_request_is_ranked_before_a_pod_over_it(candidates):
    over = [one.used > one.request for one in ranked("memory", candidates) if one.used is not None]
    assert over == sorted(over, reverse=True)
