"""Renews the node's Lease: a few quick attempts with the last known Lease, then reads or creates it.

After a Conflict it reads the newer Lease and continues. A pause that the server asks for (Retry-After) is kept, up to
the time after which the Lease is to be renewed anyway: it must not expire by the wish of a server that could take it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from actors.api_clients.requests import Caller, Json, Pause
from actors.shared.api.errors import ApiError, Conflict, NotFound

from .lease import COLLECTION, QUICK_ATTEMPTS, RETRIES, renew_seconds, renewed
from .own_objects import read_lease, read_node


class LeaseRenewal:
    """`wall`: seconds since 1970; `on_failure` and `on_success` are called after each attempt."""

    def __init__(
        self,
        api: Caller,
        name: str,
        duration: int,
        *,
        wall: Callable[[], float],
        pause: Pause,
        on_failure: Callable[[ApiError], None] = lambda error: None,
        on_success: Callable[[], None] = lambda: None,
    ) -> None:
        self._api, self._name, self._duration = api, name, duration
        self._wall, self._pause = wall, pause
        self._on_failure, self._on_success = on_failure, on_success
        self._latest: Json | None = None
        self._node_uid = ""

    async def renew(self) -> None:
        """Return when the lease is renewed, or the quick attempts with a newly read Lease have failed."""
        if self._latest is not None and await self._quickly():
            return
        if await self._ensure():
            await self._quickly()

    async def _quickly(self) -> bool:
        """Whether one of a few attempts in a row succeeded."""
        for number in range(QUICK_ATTEMPTS):
            try:
                await self._write("PUT", f"{COLLECTION}/{self._name}", self._latest)
                return True
            except Conflict:
                await self._ensure()
            except ApiError as error:
                self._on_failure(error)
                if isinstance(error, NotFound):
                    self._latest = None
                    return False
                if error.retry_after:
                    await self._pause(self._asked(error))
                elif number > 0:
                    await self._api.drop()
        return False

    def _asked(self, error: ApiError) -> float:
        return min(error.retry_after, renew_seconds(self._duration))

    async def _ensure(self) -> bool:
        """Read the Lease, or create it, until one of the two succeeds. True: it existed.

        The Node owns it, so that it is deleted with the Node: it is created, and gets an owner that it lacks, once the
        Node is registered.
        """
        failures = 0
        while True:
            try:
                return await self._read_or_create()
            except ApiError as error:
                self._on_failure(error)
                asked = self._asked(error)
            failures += 1
            await self._pause(max(RETRIES.pause(failures), asked))

    async def _read_or_create(self) -> bool:
        try:
            answer = await self._api.call("GET", f"{COLLECTION}/{self._name}")
        except NotFound:
            self._node_uid = await self._read_node_uid()
            await self._write("POST", COLLECTION, None)
            return False
        lease = read_lease(answer.body, self._name)
        if not lease["metadata"].get("ownerReferences"):
            self._node_uid = await self._read_node_uid()
        self._latest = lease
        return True

    async def _read_node_uid(self) -> str:
        answer = await self._api.call("GET", f"/api/v1/nodes/{self._name}")
        return str(read_node(answer.body, self._name)["metadata"].get("uid", ""))

    async def _write(self, method: str, path: str, base: Json | None) -> None:
        lease = renewed(base, self._name, self._duration, self._wall(), self._node_uid)
        answer = await self._api.call(method, path, body=msgspec.json.encode(lease))
        self._latest = read_lease(answer.body, self._name)
        self._on_success()
