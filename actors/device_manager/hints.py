"""On which NUMA nodes a container could get its devices, for the topology manager. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from actors.shared.hardware.hints import TopologyHint, mask_of, masks_of

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
    """None: no opinion, because the plugin reports no NUMA nodes or more than `most_nodes`. []: no nodes satisfy the
    request.

    `free` and `reusable`: healthy devices that the container may have; `reusable` ones must all be on the nodes.
    `machine`: the NUMA nodes of the machine; others count as none. Empty: each node that the plugin reports is one."""
    devices = _on_machine(devices, machine) if machine else devices
    nodes = sorted({node for device in devices.values() for node in device.nodes})
    if not nodes or len(nodes) > most_nodes:
        return None
    if len({*free, *reusable}) < needed:
        return []
    masks = list(masks_of(nodes))
    smallest = min((mask.bit_count() for mask in masks if _count(devices, devices, mask) >= needed), default=len(nodes))
    rest = set(free).difference(reusable)
    inside = [one for one in reusable if one in devices and devices[one].nodes]
    return [
        TopologyHint(mask, mask.bit_count() == smallest)
        for mask in masks
        if _count(devices, inside, mask) == len(inside) and len(inside) + _count(devices, rest, mask) >= needed
    ]


def _on_machine(devices: Mapping[str, Device], machine: Collection[int]) -> dict[str, Device]:
    """The devices without nodes that the machine does not have."""
    return {
        name: Device(one.healthy, tuple(node for node in one.nodes if node in machine)) for name, one in devices.items()
    }


def _count(devices: Mapping[str, Device], names: Iterable[str], mask: int) -> int:
    """How many of them are on a node of the mask."""
    return sum(1 for one in names if one in devices and mask_of(devices[one].nodes) & mask)
