"""Merges the hints of several resources into one affinity. Pure.

A combination takes one hint of each resource. It allows the nodes that all its hints allow. It is preferred if all its
hints are, and all that name nodes name the same ones. The best combination wins. The result does not depend on the
order of hints or resources: the reachable combinations are kept as a set, at most two for each mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from actors.shared.hardware.hints import ANYWHERE, Hints, TopologyHint, mask_of, nodes_of

NONE: Final = "none"
SINGLE: Final = "single-numa-node"
RESTRICTED: Final = "restricted"


class Numa(msgspec.Struct, frozen=True):
    """The data about the machine's NUMA nodes that merging needs."""

    nodes: tuple[int, ...]
    distances: Mapping[int, Mapping[int, int]] = {}
    """The distances, by node, to each node. Empty: distances do not matter (prefer-closest-numa-nodes is off)."""

    @property
    def all(self) -> int:
        return mask_of(self.nodes)

    def distance(self, mask: int) -> float:
        """The mean over all pairs of the mask's nodes, each with itself included."""
        nodes = nodes_of(mask)
        pairs = [self.distances[one].get(other, 0) for one in nodes for other in nodes] if self.distances else []
        return sum(pairs) / len(pairs) if pairs else 0.0


class TopologyDecision(msgspec.Struct, frozen=True):
    """Whether the policy admits the pod, and the merged affinity."""

    affinity: TopologyHint
    admitted: bool


def decide(policy: str, numa: Numa, providers: Iterable[Hints]) -> TopologyDecision:
    """`policy`: best-effort, restricted or single-numa-node."""
    resources = [_preference(hints) for one in providers for hints in (one.values() or (None,))]
    if policy != SINGLE:
        best = merged(numa, resources)
        return TopologyDecision(best, policy != RESTRICTED or best.preferred)
    single = [[hint for hint in hints if hint.preferred and _at_most_one_node(hint)] for hints in resources]
    best = merged(msgspec.structs.replace(numa, distances={}), single)
    if best.mask == numa.all:
        best = TopologyHint(None, best.preferred)
    return TopologyDecision(best, best.preferred)


def _preference(hints: Sequence[TopologyHint] | None) -> Sequence[TopologyHint]:
    """A resource without an opinion allows any node. One whose request cannot be satisfied also does, but not as
    preferred."""
    if hints is None:
        return (ANYWHERE,)
    return hints or (TopologyHint(None, preferred=False),)


def _at_most_one_node(hint: TopologyHint) -> bool:
    return hint.mask is None or hint.mask.bit_count() == 1


def merged(numa: Numa, resources: Sequence[Sequence[TopologyHint]]) -> TopologyHint:
    """The best combination; all nodes, not preferred, if there is none."""
    reached = _combinations(resources)
    found = {TopologyHint(numa.all if hint.mask is None else hint.mask & numa.all, hint.preferred) for hint in reached}
    found = {hint for hint in found if hint.mask}
    size = _preferred_size(resources)
    return min(found, key=lambda hint: _rank(numa, hint, size), default=TopologyHint(numa.all, preferred=False))


def _combinations(resources: Sequence[Sequence[TopologyHint]]) -> set[TopologyHint]:
    """All reachable combinations. A preferred one has the mask of all its hints, or None."""
    reached = {ANYWHERE}
    for hints in resources:
        reached = {_combine(one, hint) for hint in set(hints) for one in reached}
    return reached


def _combine(one: TopologyHint, hint: TopologyHint) -> TopologyHint:
    preferred = one.preferred and hint.preferred
    if one.mask is None or hint.mask is None:
        return TopologyHint(hint.mask if one.mask is None else one.mask, preferred)
    return TopologyHint(one.mask & hint.mask, preferred and one.mask == hint.mask)


def _preferred_size(resources: Iterable[Iterable[TopologyHint]]) -> int:
    """The most nodes that a resource needs: the largest of the smallest masks."""
    sizes = [[hint.mask.bit_count() for hint in hints if hint.mask is not None] for hints in resources]
    return max((min(one) for one in sizes if one), default=0)


def _rank(numa: Numa, hint: TopologyHint, size: int) -> tuple[int, int, float, int]:
    """The sort key; the best hint has the lowest: preferred hints, then hints of the preferred size, then smaller, then
    larger ones."""
    mask = hint.mask or 0
    count = mask.bit_count()
    if hint.preferred:
        order = (0, count)
    elif count == size:
        order = (1, 0)
    elif count < size:
        order = (2, -count)
    else:
        order = (3, count)
    return (*order, numa.distance(mask), mask)
