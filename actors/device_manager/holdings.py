"""Which container has which devices. Pure.

A device is taken from the moment that it is chosen, before its plugin is asked to allocate it (`reserve`), so it is
never chosen twice; it is held once the plugin has answered (`hold`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

NO_NODE = -1
"""In place of a NUMA node: the device has none."""


class Share(msgspec.Struct, frozen=True):
    """The devices of one resource that a container has."""

    devices: Mapping[int, tuple[str, ...]]
    """By NUMA node, or NO_NODE; a device of several nodes is under each."""
    response: bytes = b""
    """ContainerAllocateResponse of the plugin."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(one for devices in self.devices.values() for one in devices)


class Key(msgspec.Struct, frozen=True, order=True):
    uid: str
    container: str
    resource: str


class Holdings:
    """The shares of all containers, and what is being allocated."""

    def __init__(self) -> None:
        self._shares: dict[Key, Share] = {}
        self._reserved: dict[Key, frozenset[str]] = {}

    def items(self) -> list[tuple[Key, Share]]:
        """Sorted."""
        return sorted(self._shares.items(), key=lambda item: item[0])

    @property
    def uids(self) -> set[str]:
        return {key.uid for key in (*self._shares, *self._reserved)}

    def get(self, key: Key) -> Share | None:
        return self._shares.get(key)

    def of(self, uid: str, container: str) -> dict[str, Share]:
        """By resource, sorted."""
        return {key.resource: share for key, share in self.items() if (key.uid, key.container) == (uid, container)}

    def held_by(self, uid: str, container: str, resource: str) -> frozenset[str]:
        """The devices of this container; '': of the pod."""
        found = [
            share.ids
            for key, share in self._shares.items()
            if (key.uid, key.resource) == (uid, resource) and container in ("", key.container)
        ]
        return frozenset().union(*found)

    def taken(self, resource: str) -> frozenset[str]:
        """The devices that are held or reserved."""
        return frozenset(one for _, devices in self._taken(resource) for one in devices)

    def _taken(self, resource: str) -> Iterator[tuple[Key, frozenset[str]]]:
        yield from ((key, share.ids) for key, share in self._shares.items() if key.resource == resource)
        yield from ((key, devices) for key, devices in self._reserved.items() if key.resource == resource)

    def reusable(self, uid: str, resource: str, finished: Collection[str]) -> frozenset[str]:
        """The devices that the pod's init containers `finished` have by the time that another container of the pod
        runs, and that no other container of the pod has."""
        own = [(key.container in finished, devices) for key, devices in self._taken(resource) if key.uid == uid]
        free = {one for ends, devices in own if ends for one in devices}
        return frozenset(free.difference(*(devices for ends, devices in own if not ends)))

    # -- changes ------------------------------------------------------------------------------------------------------
    def reserve(self, key: Key, devices: Collection[str]) -> None:
        self._reserved[key] = frozenset(devices)

    def cancel(self, key: Key) -> None:
        """Nothing came of the reservation."""
        self._reserved.pop(key, None)

    def hold(self, key: Key, share: Share) -> None:
        self._reserved.pop(key, None)
        self._shares[key] = share

    def forget(self, key: Key) -> None:
        """The container does not have it."""
        self._shares.pop(key, None)

    def drop(self, uid: str) -> bool:
        """The pod has nothing any more. Whether it had something."""
        gone = [key for key in self._shares if key.uid == uid]
        for key in gone:
            del self._shares[key]
        return bool(gone)
