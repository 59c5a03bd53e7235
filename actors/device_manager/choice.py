"""Chooses a container's devices, in the kubelet's order. Pure.

`start` takes the certain devices; a plugin that may have a preference is asked (GetPreferredAllocation), and `finish`
takes the rest. Preferred devices that are not free are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from .inventory import Device, Resource


class DevicesUnavailable(Exception):
    """The container does not get the requested devices; users see the text."""


class DeviceChoice(msgspec.Struct, frozen=True):
    """`taken` is final. `missing` more are chosen from `candidates`, best first."""

    taken: tuple[str, ...]
    missing: int = 0
    candidates: tuple[str, ...] = ()
    """The plugin's preference may choose among these."""
    preferable: frozenset[str] = frozenset()
    """available_deviceIDs of the question for the plugin's preference; must_include_deviceIDs is `taken`."""


def already_has(
    uid: str, container: str, name: str, needed: int, resource: Resource | None, allocated: frozenset[str] | None
) -> bool:
    """Whether the container already has these devices. Raises DevicesUnavailable for a request that can never be
    satisfied."""
    if allocated is not None and len(allocated) != needed:
        raise DevicesUnavailable(
            f'pod "{uid}" container "{container}" changed request for resource "{name}" '
            f"from {len(allocated)} to {needed}"
        )
    if resource is None:
        raise DevicesUnavailable(f"cannot allocate unregistered device {name}")
    if not resource.healthy:
        raise DevicesUnavailable(f"no healthy devices present; cannot allocate unhealthy devices {name}")
    if allocated is not None and not allocated <= resource.healthy:
        raise DevicesUnavailable(
            f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {name}"
        )
    return allocated is not None or needed == 0


def start(
    name: str, needed: int, resource: Resource, taken: Collection[str], reusable: Collection[str], mask: int | None
) -> DeviceChoice:
    """`taken`: devices of other pods, or of this pod; `reusable`: those of them that the container may have. `mask`:
    NUMA nodes as bits; None: any. Raises DevicesUnavailable."""
    first = tuple(sorted(reusable))[:needed]
    missing = needed - len(first)
    if missing == 0:
        return DeviceChoice(first)
    free = sorted(resource.healthy.difference(taken, reusable))
    if len(free) < missing:
        raise DevicesUnavailable(
            f"requested number of devices unavailable for {name}. Requested: {missing}, Available: {len(free)}"
        )
    aligned, unaligned, anywhere = _by_affinity(free, resource.devices, mask)
    if missing < len(aligned):
        return DeviceChoice(first, missing, tuple(aligned), preferable=frozenset((*aligned, *first)))
    first, missing = (*first, *aligned), missing - len(aligned)
    if missing == 0:
        return DeviceChoice(first)
    rest = (*unaligned, *anywhere)
    return DeviceChoice(first, missing, rest, preferable=frozenset((*free, *first)))


def finish(choice: DeviceChoice, preferred: Iterable[str]) -> frozenset[str]:
    """The whole share, by the preference of the plugin."""
    candidates = frozenset(choice.candidates)
    order = dict.fromkeys((*(one for one in preferred if one in candidates), *choice.candidates))
    return frozenset((*choice.taken, *tuple(order)[: choice.missing]))


def _by_affinity(
    free: list[str], devices: Mapping[str, Device], mask: int | None
) -> tuple[list[str], list[str], list[str]]:
    """The devices on a node of the mask, on other nodes only, and without nodes; each group ordered by nodes and
    names.
    """
    if mask is None:
        return [], [], free
    ordered = sorted(free, key=lambda one: (devices[one].nodes, one))
    with_nodes = [one for one in ordered if devices[one].nodes]
    aligned = [one for one in with_nodes if any(mask >> node & 1 for node in devices[one].nodes)]
    return (
        aligned,
        [one for one in with_nodes if one not in aligned],
        [one for one in ordered if not devices[one].nodes],
    )
