"""Small collections, cached whole: Services, RuntimeClasses, CSIDrivers, requests for certificates, the Node itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from actors.shared.api.errors import ApiError
from supervision.errors import UNREADABLE

from .pod_feed import CollectionOwner

if TYPE_CHECKING:
    from actors.shared.api.reflector import Item


class CachedCollection:
    """The objects of a reflector by (namespace, name). `on_change` is called after each change, before that `on_object`
    with namespace and name of each object that is new, changed or gone."""

    def __init__(
        self,
        owner: CollectionOwner,
        name: str,
        trim: Callable[[bytes], bytes] = lambda data: data,
        on_change: Callable[[], None] = lambda: None,
        on_object: Callable[[str, str], None] = lambda namespace, name: None,
    ) -> None:
        """`name`: of the collection, in the log. `trim` removes unneeded fields of an object."""
        self._owner, self._name, self._trim = owner, name, trim
        self._on_change, self._on_object = on_change, on_object
        self.objects: dict[tuple[str, str], bytes] = {}
        self.synced = asyncio.Event()
        self.error: ApiError | None = None
        """The error of the last attempt to list, None after a list."""

    async def is_synced(self, wait: float) -> bool:
        """Whether it has been listed; waits up to `wait` seconds for the list."""
        try:
            await asyncio.wait_for(self.synced.wait(), wait)
        except TimeoutError:
            pass
        return self.synced.is_set()

    def replaced(self, items: list[Item]) -> None:
        before = self.objects
        self.objects = {(item.namespace, item.name): self._trim(item.data) for item in items}
        self.error = None
        self.synced.set()
        for key in before.keys() | self.objects.keys():
            if before.get(key) != self.objects.get(key):
                self._on_object(*key)
        self._on_change()

    def changed(self, item: Item) -> None:
        self.objects[item.namespace, item.name] = self._trim(item.data)
        self._on_object(item.namespace, item.name)
        self._on_change()

    def deleted(self, item: Item) -> None:
        self.objects.pop((item.namespace, item.name), None)
        self._on_object(item.namespace, item.name)
        self._on_change()

    def failed(self, error: ApiError) -> None:
        self.error = error
        self._owner.collection_failed(self._name, error)

    def answered(self) -> None:
        self._owner.collection_answered(self._name)


class _Meta(msgspec.Struct, omit_defaults=True):
    name: str = ""
    namespace: str = ""


class _Port(msgspec.Struct, omit_defaults=True):
    name: str = ""
    port: int = 0
    protocol: str = ""


class _Spec(msgspec.Struct, frozen=True, omit_defaults=True):
    type: str = ""
    clusterIP: str = ""
    ports: list[_Port] | None = None


class _Service(msgspec.Struct, omit_defaults=True):
    metadata: _Meta
    spec: _Spec = _Spec()


_service = msgspec.json.Decoder(_Service)


def trimmed_service(data: bytes) -> bytes:
    """The fields for environment variables: names, address, ports."""
    try:
        return msgspec.json.encode(_service.decode(data))
    except UNREADABLE:
        return data
