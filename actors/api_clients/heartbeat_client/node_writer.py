"""Registers the node and writes its status, based on the API's current object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from actors.api_clients.requests import Caller, Json
from actors.shared.api.errors import AlreadyExists, ApiError, NotFound
from actors.shared.kube.resource_versions import is_older

from .node_status.patch import CONTENT_TYPE, node_patch
from .node_status.status import ComputedNode, changed, difference
from .own_objects import read_node

TRIES: Final = 5
NODES: Final = "/api/v1/nodes"


class WrittenStatus(msgspec.Struct, frozen=True):
    """A status that the API has now."""

    computed: ComputedNode
    changed: bool
    """False: written only because the last report is old."""


Compute = Callable[[Json], ComputedNode]
Watched = Callable[[], Awaitable[Json | None]]
"""The Node as the watch of kube_client has it; None when it has not."""
Due = Callable[[bool], bool]
"""Whether to write, given that there is a change or not."""


class NodeWriter:
    """Keeps the API's last object of this node."""

    def __init__(self, api: Caller, name: str, watched: Watched) -> None:
        self._api, self._name, self._watched = api, name, watched
        self.node: Json | None = None
        self._left_out: Json = {}
        """Fields of the last write that the server did not store, for example because it lacks the feature: they are
        not written again."""

    # -- registration -------------------------------------------------------------------------------------------------
    async def find(self) -> Json | None:
        """The node as the API has it, None when it has none. Raises ApiError."""
        try:
            return await self._read(recent=True)
        except NotFound:
            return None

    async def create(self, node: Json) -> bool:
        """False when there is one by now. Raises ApiError."""
        try:
            answer = await self._api.call("POST", NODES, body=msgspec.json.encode(node))
        except AlreadyExists:
            return False
        self.node = read_node(answer.body, self._name)
        return True

    # -- status -------------------------------------------------------------------------------------------------------
    async def update(self, compute: Compute, due: Due) -> WrittenStatus | None:
        """Write what `compute` makes of the API's object, if it is due. None when it was not due.

        The first of five tries may go by the watched Node. Raises the last ApiError, and at once one by which the
        server asks for a pause: the next update is soon enough.
        """
        number = 0
        while True:
            number += 1
            try:
                return await self._update(compute, due, recent=number > 1)
            except ApiError as error:
                if number == TRIES or error.retry_after:
                    raise
                if number > 1:
                    await self._api.drop()

    async def _update(self, compute: Compute, due: Due, *, recent: bool) -> WrittenStatus | None:
        before = await self._read(recent=recent)
        computed = compute(before)
        is_changed = changed(before, computed.node) and difference(before, computed.node) != self._left_out
        if not due(is_changed):
            return None
        await self.write(before, computed.node)
        return WrittenStatus(computed, is_changed)

    async def write(self, before: Json, after: Json) -> None:
        """Make the API's object, that was `before`, this one. Raises ApiError."""
        patch = node_patch(before, after)
        if not patch:
            return
        path = f"{NODES}/{self._name}/status"
        answer = await self._api.call("PATCH", path, body=msgspec.json.encode(patch), content_type=CONTENT_TYPE)
        self.node = read_node(answer.body, self._name)
        self._left_out = difference(self.node, after)

    async def _read(self, *, recent: bool) -> Json:
        """`recent`: from the store; else the watched Node or the server's cache, if it is not behind what we have."""
        read = None if recent else await self._watched()
        if read is None:
            query = {} if recent else {"resourceVersion": "0"}
            answer = await self._api.call("GET", f"{NODES}/{self._name}", query=query)
            read = read_node(answer.body, self._name)
        if recent or self.node is None or not _older(read, self.node):
            self.node = read
        return self.node


def _older(one: Json, other: Json) -> bool:
    first, second = (str(node.get("metadata", {}).get("resourceVersion", "")) for node in (one, other))
    same = one.get("metadata", {}).get("uid") == other.get("metadata", {}).get("uid")
    return same and is_older(first, second)
