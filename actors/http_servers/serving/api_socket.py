"""A gRPC API on a Unix socket of the node, started for its first client."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from actors.shared.relay import LOOK_SECONDS, Relay, kept_socket
from supervision.actor import Actor

if TYPE_CHECKING:
    import grpc.aio

DIRECTORY_MODE: Final = 0o750
RETRY_SECONDS: Final = 5.0


class ApiSocket:
    """`api`: its name in texts. `inner`: the path of the gRPC server's own socket, to which the relay copies. `start`
    begins to serve there; it may raise OSError."""

    def __init__(self, actor: Actor, api: str, inner: str, start: Callable[[str], Awaitable[grpc.aio.Server]]) -> None:
        self._actor, self._api, self._inner, self._start = actor, api, inner, start
        self._relay = Relay(self._serve)
        self._server: grpc.aio.Server | None = None

    async def open(self, path: str) -> None:
        """Listen. If that fails, retry after RETRY_SECONDS. A socket that is removed is made again."""
        self._actor.every(LOOK_SECONDS, lambda: self._look(path))
        await self._listen(path)

    async def _listen(self, path: str) -> None:
        try:
            os.makedirs(os.path.dirname(path), mode=DIRECTORY_MODE, exist_ok=True)
            await self._relay.open(kept_socket(self._actor, path))
        except OSError as error:
            text = "the %s cannot be served, next attempt in %.0f s: %s"
            self._actor.log.error(text, self._api, RETRY_SECONDS, error)
            self._actor.after(RETRY_SECONDS, lambda: self._listen(path))

    async def _look(self, path: str) -> None:
        if self._relay.removed:
            self._actor.log.warning("%s was removed: it is made again", path)
            self._relay.stop_listening()
            await self._listen(path)

    async def close(self) -> None:
        self._relay.close()
        if self._server is not None:
            await self._server.stop(grace=None)

    async def _serve(self) -> str:
        self._server = await self._start(self._inner)
        self._actor.log.info("first client of the %s: gRPC is started", self._api)
        return self._inner
