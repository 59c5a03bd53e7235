"""Small collections, cached whole: Services, RuntimeClasses, the Node itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from actors.shared.api.errors import ApiError
from supervision.errors import UNREADABLE

from .pod_feed import Owner

if TYPE_CHECKING:
    from actors.shared.api.reflector import Item


class CachedCollection:
    """The objects by (namespace, name), as the reflector tells of them. `changed_to` is called after each change."""

    def __init__(
        self,
        owner: Owner,
        trim: Callable[[bytes], bytes] = lambda data: data,
        changed_to: Callable[[], None] = lambda: None,
    ) -> None:
        """`trim` takes from an object what is not needed."""
        self._owner, self._trim, self._changed_to = owner, trim, changed_to
        self.objects: dict[tuple[str, str], bytes] = {}
        self.synced = asyncio.Event()
        self.error: ApiError | None = None
        """Why it has not been listed yet."""

    async def is_synced(self, wait: float) -> bool:
        """Whether it has been listed; waits for that, `wait` seconds at most."""
        try:
            await asyncio.wait_for(self.synced.wait(), wait)
        except TimeoutError:
            pass
        return self.synced.is_set()

    def replaced(self, items: list[Item]) -> None:
        self.objects = {(item.namespace, item.name): self._trim(item.data) for item in items}
        self.error = None
        self.synced.set()
        self._changed_to()

    def changed(self, item: Item) -> None:
        self.objects[item.namespace, item.name] = self._trim(item.data)
        self._changed_to()

    def deleted(self, item: Item) -> None:
        self.objects.pop((item.namespace, item.name), None)
        self._changed_to()

    def failed(self, error: ApiError) -> None:
        self.error = error
        self._owner.failed(error)

    def answered(self) -> None:
        self._owner.answered()


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
    """What environment variables are made of: names, address, ports."""
    try:
        return msgspec.json.encode(_service.decode(data))
    except UNREADABLE:
        return data
