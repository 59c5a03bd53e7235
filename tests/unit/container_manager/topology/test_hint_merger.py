"""Hints of several resources are merged into one affinity."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.topology.hint_merger import Numa, TopologyDecision, decide, merged
from actors.shared.hardware.hints import Hints, TopologyHint

TWO = Numa((0, 1))
FOUR = Numa((0, 1, 2, 3))


def yes(mask: int | None) -> TopologyHint:
    return TopologyHint(mask, preferred=True)


def no(mask: int | None) -> TopologyHint:
    return TopologyHint(mask, preferred=False)


@pytest.mark.parametrize(
    ("hints", "best"),
    [
        # nobody has an opinion
        ([{}], yes(3)),
        ([{"cpu": None}], yes(3)),
        ([], yes(3)),
        # nothing satisfies one of them
        ([{"cpu": []}], no(3)),
        ([{"cpu": []}, {"gpu": [yes(1)]}], no(1)),
        # one resource: the narrowest, then the lowest
        ([{"cpu": [yes(1), yes(2), no(3)]}], yes(1)),
        ([{"cpu": [yes(2), no(3)]}], yes(2)),
        ([{"cpu": [no(3)]}], no(3)),
        # two that agree
        ([{"cpu": [yes(1), yes(2), no(3)]}, {"gpu": [yes(2), no(3)]}], yes(2)),
        ([{"cpu": [yes(1), yes(2)], "memory": [yes(2)]}], yes(2)),
        # two that cannot agree: what one of them prefers, not preferred
        ([{"cpu": [yes(1), no(3)]}, {"gpu": [yes(2), no(3)]}], no(1)),
        ([{"cpu": [yes(1)]}, {"gpu": [yes(2)]}], no(3)),
        # both need both nodes
        ([{"cpu": [yes(3)]}, {"gpu": [yes(3)]}], yes(3)),
        # one needs both, the other one: nothing is preferred, as wide as the wider needs
        ([{"cpu": [yes(3)]}, {"gpu": [yes(1), no(3)]}], no(3)),
    ],
)
def test_the_best_combination_wins(hints: list[Hints], best: TopologyHint):
    found = decide("best-effort", TWO, hints)
    assert found == TopologyDecision(best, admitted=True)
    assert decide("restricted", TWO, hints) == TopologyDecision(best, admitted=best.preferred)


@pytest.mark.parametrize(
    ("hints", "best"),
    [
        ([{}], yes(None)),
        ([{"cpu": [yes(1), no(3)]}, {"gpu": [yes(1)]}], yes(1)),
        ([{"cpu": [yes(3)]}], no(None)),
        ([{"cpu": [yes(1)]}, {"gpu": [yes(2)]}], no(None)),
        ([{"cpu": []}], no(None)),
        ([{"cpu": [no(1)]}], no(None)),
    ],
)
def test_single_numa_node_admits_one_node_or_none(hints: list[Hints], best: TopologyHint):
    assert decide("single-numa-node", TWO, hints) == TopologyDecision(best, admitted=best.preferred)


def test_a_machine_of_one_node_has_no_affinity():
    assert decide("single-numa-node", Numa((0,)), [{"cpu": [yes(1)]}]) == TopologyDecision(yes(None), admitted=True)


def test_the_closest_nodes_are_preferred_with_that_option():
    near = {0: {0: 10, 1: 30, 2: 12, 3: 30}, 1: {0: 30, 1: 10, 2: 30, 3: 12}}
    near |= {2: {0: 12, 1: 30, 2: 10, 3: 30}, 3: {0: 30, 1: 12, 2: 30, 3: 10}}
    hints: list[Hints] = [{"cpu": [yes(0b11), yes(0b101), yes(0b1010), no(0b1111)]}]
    assert decide("best-effort", FOUR, hints).affinity == yes(0b11)
    assert decide("best-effort", Numa((0, 1, 2, 3), near), hints).affinity == yes(0b101)


MASKS = st.one_of(st.none(), st.integers(1, 15))
HINTS = st.lists(st.builds(TopologyHint, MASKS, st.booleans()), min_size=1, max_size=5)


@given(st.lists(HINTS, max_size=4), st.randoms())
def test_the_order_of_hints_and_resources_does_not_matter(resources, random):
    mixed = [random.sample(hints, len(hints)) for hints in resources]
    random.shuffle(mixed)
    assert merged(FOUR, mixed) == merged(FOUR, resources)


@given(st.lists(HINTS, min_size=1, max_size=3))
def test_the_merged_hint_equals_that_of_an_exhaustive_search(resources):
    assert merged(FOUR, resources) == by_hand(resources)


def by_hand(resources: Sequence[Sequence[TopologyHint]]) -> TopologyHint:
    """As the kubelet does it: every combination is compared to the best one so far."""
    best = None
    sizes = [[hint.mask.bit_count() for hint in hints if hint.mask is not None] for hints in resources]
    size = max((min(one) for one in sizes if one), default=0)
    for combination in itertools.product(*resources):
        given = [hint.mask for hint in combination if hint.mask is not None]
        mask = 15
        for one in given:
            mask &= one
        candidate = TopologyHint(mask, all(hint.preferred for hint in combination) and len(set(given)) <= 1)
        if mask and (best is None or is_better(candidate, best, size)):
            best = candidate
    return best or no(15)


def is_better(candidate: TopologyHint, current: TopologyHint, size: int) -> bool:
    one, other = candidate.mask or 0, current.mask or 0
    narrower = (one.bit_count(), one) < (other.bit_count(), other)
    if candidate.preferred != current.preferred:
        return candidate.preferred
    if candidate.preferred or other.bit_count() > size:
        return narrower
    if other.bit_count() == size:
        return one.bit_count() == size and narrower
    if one.bit_count() >= size:
        return one.bit_count() == size
    return one.bit_count() > other.bit_count() or (one.bit_count() == other.bit_count() and narrower)


def test_eight_nodes_and_three_resources_are_merged_without_looking_at_every_combination():
    nodes = Numa(tuple(range(8)))
    every = [TopologyHint(mask, mask.bit_count() == 2) for mask in range(1, 256)]
    assert decide("restricted", nodes, [{"a": every}, {"b": every}, {"c": every}]) == TopologyDecision(
        yes(3), admitted=True
    )
