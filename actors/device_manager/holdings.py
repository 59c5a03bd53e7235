"""The devices of each container. Pure.

A device is taken from the moment that it is chosen, before its plugin is asked to allocate it (`reserve`), so it is
never chosen twice; it is allocated once the plugin has answered (`allocate`). Until the plugin is asked, what is
reserved for a container may be exchanged, and counts as free for that container itself; from then on the reservation is
`committed`.
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
    """The shares of all containers, and the reservations of allocations under way."""

    def __init__(self) -> None:
        self._shares: dict[Key, Share] = {}
        self._reserved: dict[Key, frozenset[str]] = {}
        self._committed: set[Key] = set()

    def items(self) -> list[tuple[Key, Share]]:
        """Sorted."""
        return sorted(self._shares.items(), key=lambda item: item[0])

    @property
    def uids(self) -> set[str]:
        return {key.uid for key in (*self._shares, *self._reserved)}

    def get(self, key: Key) -> Share | None:
        return self._shares.get(key)

    def of(self, uid: str, container: str) -> dict[str, Share]:
        """The device ids by resource, sorted."""
        return {key.resource: share for key, share in self.items() if (key.uid, key.container) == (uid, container)}

    def allocated_to(self, uid: str, container: str, resource: str) -> frozenset[str]:
        """The devices that this container has, or is given at this moment; '': the pod."""
        found = [
            devices
            for key, devices in self._taken_devices(resource)
            if key.uid == uid and container in ("", key.container) and (key in self._shares or key in self._committed)
        ]
        return frozenset().union(*found)

    def reserved(self, key: Key) -> frozenset[str] | None:
        return self._reserved.get(key)

    def is_committed(self, key: Key) -> bool:
        return key in self._committed

    def taken(self, resource: str, uid: str = "", container: str = "") -> frozenset[str]:
        """The devices that are allocated or reserved, but not those that this container may exchange, although a later
        container of the pod is to have them after it; container '': that this pod may."""
        key = Key(uid, container, resource)
        own = self._reserved.get(key, frozenset()) if key not in self._committed else frozenset()
        taken = (devices for _, devices in self._taken_devices(resource, uid, container))
        return frozenset[str]().union(*taken).difference(own)

    def _taken_devices(self, resource: str, uid: str = "", container: str = "") -> Iterator[tuple[Key, frozenset[str]]]:
        yield from ((key, share.ids) for key, share in self._shares.items() if key.resource == resource)
        for key, devices in self._reserved.items():
            own = key.uid == uid and container in ("", key.container) and key not in self._committed
            if key.resource == resource and not own:
                yield key, devices

    def reusable(self, uid: str, container: str, resource: str, finished: Collection[str]) -> frozenset[str]:
        """The devices that the pod's init containers `finished` have by the time that this container of the pod runs,
        and that no other container of the pod has."""
        taken = self._taken_devices(resource, uid, container)
        own = [(key.container in finished, devices) for key, devices in taken if key.uid == uid]
        free = {one for ends, devices in own if ends for one in devices}
        return frozenset(free.difference(*(devices for ends, devices in own if not ends)))

    # -- changes ------------------------------------------------------------------------------------------------------
    def reserve(self, key: Key, devices: Collection[str], *, committed: bool = False) -> frozenset[str]:
        """Reserve devices in place of the container's reservation. Returns the new one."""
        self._reserved[key] = devices = frozenset(devices)
        if committed:
            self._committed.add(key)
        return devices

    def cancel(self, key: Key, reservation: frozenset[str] | None) -> None:
        """Cancel this reservation. A later one stays."""
        if reservation is not None and self._reserved.get(key) is reservation:
            del self._reserved[key]
            self._committed.discard(key)

    def allocate(self, key: Key, share: Share) -> None:
        """The plugin has answered: the reservation ends."""
        self._reserved.pop(key, None)
        self._committed.discard(key)
        self._shares[key] = share

    def forget(self, key: Key) -> None:
        """The container does not have it."""
        self._shares.pop(key, None)

    def drop(self, uid: str) -> bool:
        """Remove all that the pod has. Returns whether it had anything."""
        gone = [key for key in self._shares if key.uid == uid]
        for key in gone:
            del self._shares[key]
        self._reserved = {key: devices for key, devices in self._reserved.items() if key.uid != uid}
        self._committed = {key for key in self._committed if key.uid != uid}
        return bool(gone)
