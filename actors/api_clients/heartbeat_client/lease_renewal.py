"""Renews the node's Lease: a few quick tries with the Lease that it knows, then read or create it until that succeeds.

On a Conflict it reads the newer Lease and goes on.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from actors.api_clients.requests import Caller, Json, Pause
from actors.shared.api.errors import ApiError, Conflict, NotFound

from .lease import COLLECTION, QUICK_TRIES, RETRIES, renewed


class LeaseRenewal:
    """Of one node. `wall` gives seconds since 1970; `failed` is called after each failure, `kept` after each
    success."""

    def __init__(
        self,
        api: Caller,
        name: str,
        duration: int,
        *,
        wall: Callable[[], float],
        pause: Pause,
        failed: Callable[[ApiError], None] = lambda error: None,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._api, self._name, self._duration = api, name, duration
        self._wall, self._pause, self._failed, self._kept = wall, pause, failed, kept
        self._latest: Json | None = None
        self._node_uid = ""

    async def renew(self) -> None:
        """Returns when the lease is renewed, or the quick tries on one just read have failed."""
        if self._latest is not None and await self._quickly():
            return
        if await self._ensure():
            await self._quickly()

    async def _quickly(self) -> bool:
        """Whether one of a few tries in a row was successful."""
        for number in range(QUICK_TRIES):
            try:
                await self._write("PUT", f"{COLLECTION}/{self._name}", self._latest)
                return True
            except Conflict:
                await self._ensure()
            except ApiError as error:
                self._failed(error)
                if isinstance(error, NotFound):
                    self._latest = None
                    return False
                if number > 0:
                    await self._api.drop()
        return False

    async def _ensure(self) -> bool:
        """Read the lease, or create it. Goes on until one of the two was possible; True: it was there.

        Not before the node is registered: a lease is owned by it, so that it goes with the node.
        """
        failures = 0
        while True:
            try:
                return await self._read_or_create()
            except ApiError as error:
                self._failed(error)
            failures += 1
            await self._pause(RETRIES.pause(failures))

    async def _read_or_create(self) -> bool:
        try:
            answer = await self._api.call("GET", f"{COLLECTION}/{self._name}")
        except NotFound:
            self._node_uid = await self._read_node_uid()
            await self._write("POST", COLLECTION, None)
            return False
        self._latest = msgspec.json.decode(answer.body)
        return True

    async def _read_node_uid(self) -> str:
        answer = await self._api.call("GET", f"/api/v1/nodes/{self._name}")
        return str(msgspec.json.decode(answer.body)["metadata"]["uid"])

    async def _write(self, method: str, path: str, base: Json | None) -> None:
        lease = renewed(base, self._name, self._duration, self._wall(), self._node_uid)
        answer = await self._api.call(method, path, body=msgspec.json.encode(lease))
        self._latest = msgspec.json.decode(answer.body)
        self._kept()
