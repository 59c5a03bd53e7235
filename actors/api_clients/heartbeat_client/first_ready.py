"""Writes the first Ready of a start at once, not at the next regular time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from actors.api_clients.requests import Json, Pause

from .node_status.conditions import is_ready
from .node_status.facts import pod_cidr
from .node_writer import NodeWriter, Watched
from .status_sync import StatusSync

FAST_SECONDS: Final = 0.1
FAST_LIMIT: Final = 120.0
"""A node is checked at this interval, up to this limit, until it is ready."""


class FirstReady:
    """`watched`: the node as kube_client has it; `observe` is called with it once it has a network for pods; `write`
    writes the status, if that is due."""

    def __init__(
        self,
        writer: NodeWriter,
        status: StatusSync,
        *,
        watched: Watched,
        observe: Callable[[Json], None],
        write: Callable[[], Awaitable[None]],
    ) -> None:
        self._writer, self._status = writer, status
        self._watched, self._observe, self._write = watched, observe, write

    async def run(self, clock: Callable[[], float], pause: Pause) -> None:
        """Until the node is ready. As with the kubelet, there is one write: a server that refuses it gets the next one
        at the regular time."""
        end = clock() + FAST_LIMIT
        while clock() < end:
            node = self._writer.node
            if node is None or is_ready(node):
                return
            if not pod_cidr(node):  # the runtime may have no network before it gets the cluster's
                node = await self._watched() or node
                if pod_cidr(node):
                    self._observe(node)
            if is_ready(self._status.compute(node).node):
                await self._write()
                return
            await pause(FAST_SECONDS)
