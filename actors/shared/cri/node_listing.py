"""Lists all sandboxes and containers of the runtime, for a caller that does so each second.

Nearly all items are the same as in the last list. These are not decoded again: with 110 pods of one container a list
takes 0.1 ms of processor time in place of 5.6 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from google.protobuf.message import DecodeError

from proto import cri_pb2 as cri

from . import conversion
from .checked_answers import distinct
from .client import CriClient
from .errors import RuntimeFailure
from .model import CriContainer, Sandbox

Value = TypeVar("Value")


class DecodedItems(Generic[Value]):
    """The items of the last list, with the value of each."""

    def __init__(self, decode: Callable[[bytes], Value]) -> None:
        self._decode = decode
        self._known: dict[bytes, Value] = {}

    def values(self, items: Iterable[bytes]) -> list[Value]:
        """The values of a new list. Raises what `decode` raises; then the last list is kept."""
        known, decode = self._known, self._decode
        self._known = {item: known[item] if item in known else decode(item) for item in items}
        return list(self._known.values())


class NodeListing:
    """The runtime's sandboxes and containers."""

    def __init__(self, client: CriClient) -> None:
        self._client = client
        self._sandboxes, self._containers = DecodedItems(_sandbox), DecodedItems(_container)

    async def read(self) -> tuple[list[Sandbox], list[CriContainer]]:
        """Raises CriError."""
        sandboxes, containers = await asyncio.gather(self._client.unread_sandboxes(), self._client.unread_containers())
        return distinct(self._sandboxes.values(sandboxes)), distinct(self._containers.values(containers))


def _sandbox(item: bytes) -> Sandbox:
    try:
        return conversion.listed_sandbox(cri.PodSandbox.FromString(item))
    except DecodeError as error:
        raise _unreadable("ListPodSandbox", error) from None


def _container(item: bytes) -> CriContainer:
    try:
        return conversion.listed_container(cri.Container.FromString(item))
    except DecodeError as error:
        raise _unreadable("ListContainers", error) from None


def _unreadable(method: str, error: DecodeError) -> RuntimeFailure:
    return RuntimeFailure(method, "DATA_LOSS", f"the runtime answers with an item that is no message: {error}")
