"""The devices that plugins have reported, by resource. Pure; times are monotonic seconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

GRACE_SECONDS: Final = 300.0
"""Seconds for which a resource is kept after its plugin is gone."""
MOST_REMOVED: Final = 512
"""The most removed resources that are shown with 0. Above it the oldest are forgotten: the Node object already has
their 0."""


MOST_BYTES: Final = 8 << 20
"""The most for the lists of all plugins: each change of one writes all of them to the checkpoint, within a second or
two."""
SMALL_BYTES: Final = 64 << 10
"""A list of up to this size is always accepted: a thousand devices."""
_ENTRY_BYTES: Final = 32


class ResourceTooLarge(Exception):
    """There is no room for the devices of a plugin."""


class Device(msgspec.Struct, frozen=True):
    healthy: bool = True
    nodes: tuple[int, ...] = ()
    """NUMA nodes; empty: the plugin reports none."""


class Resource(msgspec.Struct, frozen=True):
    """The devices of one plugin."""

    devices: Mapping[str, Device] = {}
    stopped_at: float | None = None
    """Since when the plugin is away; None: it is connected."""

    @property
    def healthy(self) -> frozenset[str]:
        return frozenset(name for name, device in self.devices.items() if device.healthy)


def size_of(devices: Mapping[str, Device]) -> int:
    """Bytes, roughly: of the IDs, and of an entry for each device and NUMA node."""
    return sum(len(one) + _ENTRY_BYTES * max(1, len(device.nodes)) for one, device in devices.items())


class Inventory:
    """All resources that have a plugin, or had one within the grace."""

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        self._removed: dict[str, None] = {}
        """The latest last."""

    def __contains__(self, name: str) -> bool:
        return name in self._resources

    def check_room(self, name: str, devices: Mapping[str, Device]) -> None:
        """Raises ResourceTooLarge for a list that, with those of the other plugins, is too much for the node. A small
        one is always taken, so that large lists of one plugin keep no other away."""
        size = size_of(devices)
        others = sum(size_of(one.devices) for other, one in self._resources.items() if other != name)
        if size > SMALL_BYTES and others + size > MOST_BYTES:
            text = f"its list of devices takes {size} bytes, those of others {others}, and {MOST_BYTES} are the most"
            raise ResourceTooLarge(text)

    def get(self, name: str) -> Resource | None:
        return self._resources.get(name)

    @property
    def names(self) -> list[str]:
        return sorted(self._resources)

    def remembered(self, names: Iterable[str], now: float) -> None:
        """Resources that were registered by an earlier incarnation: without devices until their plugins come."""
        for name in names:
            self._resources.setdefault(name, Resource(stopped_at=now))

    def registered(self, name: str) -> None:
        """A plugin is connected. The devices of an earlier one stay until it reports its own."""
        before = self._resources.get(name, Resource())
        self._resources[name] = Resource(before.devices)
        self._removed.pop(name, None)

    def reported(self, name: str, devices: Mapping[str, Device]) -> None:
        self._resources[name] = Resource(dict(devices))

    def stopped(self, name: str, now: float) -> None:
        """The plugin is away: no device is known to be healthy."""
        resource = self._resources.get(name)
        if resource is not None and resource.stopped_at is None:
            devices = {one: Device(False, device.nodes) for one, device in resource.devices.items()}
            self._resources[name] = Resource(devices, now)

    def expire(self, now: float) -> list[str]:
        """Remove the resources whose grace is over; returns them."""
        gone = [name for name, until in self._ends() if until <= now]
        for name in gone:
            del self._resources[name]
            self._removed.pop(name, None)
            self._removed[name] = None
        while len(self._removed) > MOST_REMOVED:
            del self._removed[next(iter(self._removed))]
        return gone

    def next_expiry(self) -> float | None:
        """When a grace ends next; None: none runs."""
        return min((until for _, until in self._ends()), default=None)

    def _ends(self) -> list[tuple[str, float]]:
        """The end of each grace that runs."""
        return [
            (name, resource.stopped_at + GRACE_SECONDS)
            for name, resource in self._resources.items()
            if resource.stopped_at is not None
        ]

    # -- the node's resources
    # --------------------------------------------------------------------------------------------
    def capacity(self) -> dict[str, int]:
        """Devices of each resource; 0 for a removed resource."""
        return {**dict.fromkeys(self._removed, 0), **{name: len(one.devices) for name, one in self._items()}}

    def allocatable(self) -> dict[str, int]:
        """Healthy devices of each resource."""
        return {**dict.fromkeys(self._removed, 0), **{name: len(one.healthy) for name, one in self._items()}}

    def healthy(self) -> dict[str, frozenset[str]]:
        """The healthy devices by resource."""
        return {name: one.healthy for name, one in self._items()}

    def health(self, name: str, devices: Collection[str]) -> dict[str, bool | None]:
        """Whether each of these devices is healthy; None for one that no plugin reports."""
        resource = self._resources.get(name, Resource())
        return {one: resource.devices[one].healthy if one in resource.devices else None for one in devices}

    def _items(self) -> list[tuple[str, Resource]]:
        return sorted(self._resources.items())
