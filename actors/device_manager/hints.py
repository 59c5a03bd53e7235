"""On which NUMA nodes a container could get its devices, for the topology manager. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import Final

from actors.shared.hardware.hints import TopologyHint, mask_of, masks_of, nodes_of

from .inventory import Device

MOST_NODES: Final = 8
"""With more nodes there are too many combinations; max-allowable-numa-nodes changes the limit."""


def hints(
    devices: Mapping[str, Device],
    free: Collection[str],
    reusable: Collection[str],
    needed: int,
    most_nodes: int = MOST_NODES,
    machine: Collection[int] = (),
) -> list[TopologyHint] | None:
    """None: no opinion, because the plugin reports no NUMA nodes, or there are more than `most_nodes`. []: no nodes
    satisfy the request.

    `free` and `reusable`: healthy devices that the container may have; `reusable` ones must all be on the nodes.
    `machine`: the NUMA nodes of the machine; others that a plugin reports count as none. Empty: the machine has the
    nodes that the plugin reports. As in the kubelet since 1.36, hints name only nodes that have devices of this
    resource: with each node that has none there would be twice as many."""
    masks = _masks(devices, machine)
    nodes = nodes_of(reduce(or_, masks.values(), 0))
    if not any(masks.values()) or len(nodes) > most_nodes:
        return None
    if len({*free, *reusable}) < needed:
        return []
    candidates = list(masks_of(nodes))
    all_devices = Counter(masks.values())
    smallest = min((one.bit_count() for one in candidates if _count(all_devices, one) >= needed), default=len(nodes))
    rest = Counter(masks[one] for one in set(free).difference(reusable) if one in masks)
    inside = Counter(masks[one] for one in reusable if masks.get(one))
    return [
        TopologyHint(one, one.bit_count() == smallest)
        for one in candidates
        if _count(inside, one) == inside.total() and inside.total() + _count(rest, one) >= needed
    ]


def _masks(devices: Mapping[str, Device], machine: Collection[int]) -> dict[str, int]:
    """The nodes of each device as bits; without those that the machine does not have."""
    if not machine:
        return {name: mask_of(one.nodes) for name, one in devices.items()}
    return {name: mask_of(node for node in one.nodes if node in machine) for name, one in devices.items()}


def _count(devices: Counter[int], mask: int) -> int:
    """How many of the devices are on a node of the mask. `devices`: how many there are, by their nodes as bits."""
    return sum(count for nodes, count in devices.items() if nodes & mask)
