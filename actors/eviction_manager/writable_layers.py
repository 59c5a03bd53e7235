"""The sizes of writable layers, as the runtime tells them.

For its answer containerd asks the shim of each container, so one shim that hangs keeps it from answering for all. So
the runtime is asked for each pod by itself where it does not answer for all; the layers of a pod whose shim hangs count
as empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from logging import Logger
from typing import Final

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, DeadlineExceeded, Unimplemented
from actors.shared.kube import names as known
from supervision.time_scale import scaled

from .usage import DiskUsage

STATS_SECONDS: Final = 10.0
FEW_PODS: Final = 16
"""The runtime is asked for each of so many; it measures the containers of all pods for a list of all."""
_AT_ONCE: Final = 32

Layers = dict[str, DiskUsage]
"""By container ID."""


class WritableLayers:
    """`log`: of the actor."""

    def __init__(self, log: Logger) -> None:
        self._log = log

    async def read(self, client: CriClient, uids: list[str]) -> Layers | None:
        """None: unknown for every pod; without it the wrong pod would be evicted."""
        try:
            if len(uids) > FEW_PODS:
                try:
                    return await _list(client, {})
                except Unimplemented:
                    raise
                except CriError as error:
                    self._log.warning("the runtime is asked for the writable layers of each pod: %s", error)
            return await self._by_pod(client, uids)
        except Unimplemented:
            return {}

    async def _by_pod(self, client: CriClient, uids: list[str]) -> Layers | None:
        """Raises Unimplemented."""
        places, found, errors = asyncio.Semaphore(_AT_ONCE), Layers(), dict[str, CriError]()

        async def ask(uid: str) -> None:
            async with places:
                try:
                    found.update(await _list(client, {known.POD_UID_LABEL: uid}))
                except Unimplemented:
                    raise
                except CriError as error:
                    errors[uid] = error

        await asyncio.gather(*map(ask, uids))
        if errors:
            uid, error = next(iter(errors.items()))
            self._log.warning(
                "the usage of writable layers is unknown of %d pods, first %s: %s", len(errors), uid, error
            )
        return None if errors and len(errors) == len(uids) else found


async def _list(client: CriClient, labels: Mapping[str, str]) -> Layers:
    """Raises CriError."""
    try:
        async with asyncio.timeout(scaled(STATS_SECONDS)):
            stats = await client.list_container_stats(labels)
    except TimeoutError:
        raise DeadlineExceeded("ListContainerStats", "DEADLINE_EXCEEDED", "no answer in time") from None
    layers = {one.id: one.writable_layer for one in stats}
    return {
        id_: DiskUsage(layer.used_bytes or 0, layer.inodes_used or 0)
        for id_, layer in layers.items()
        if layer is not None
    }
