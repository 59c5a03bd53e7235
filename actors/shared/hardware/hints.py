"""Topology hints: the sets of NUMA nodes that can provide a resource. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec


class TopologyHint(msgspec.Struct, frozen=True):
    """A way to satisfy a request."""

    mask: int | None
    """NUMA nodes as bits: bit 3 is node 3. None: any node will do."""
    preferred: bool
    """Whether the mask has no more nodes than the request needs on this machine."""


Hints = Mapping[str, Sequence[TopologyHint] | None]
"""Hints by resource. None, or a missing resource: no opinion. An empty list: no nodes can satisfy the request."""

ANYWHERE = TopologyHint(None, preferred=True)


def mask_of(nodes: Iterable[int]) -> int:
    """The nodes as bits."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def nodes_of(mask: int) -> tuple[int, ...]:
    """The nodes of a mask, ascending."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


def masks_of(nodes: Sequence[int]) -> Iterator[int]:
    """Every mask of at least one of these nodes, masks of fewer nodes first."""
    for size in range(1, len(nodes) + 1):
        yield from (mask_of(chosen) for chosen in combinations(nodes, size))
