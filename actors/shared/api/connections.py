"""Two pools of HTTP/1.1 connections to one server: one for calls, one for watches, which occupy a connection each."""

from __future__ import annotations

import socket
from typing import Final

import httpcore

from .access import ServerAccess
from .credentials import ClientKeyPair
from .network import NetworkBackend
from .proxy import ProxyBackend, proxy_for
from .tls import context

IDLE_SECONDS: Final = 60.0
"""How long an idle connection is kept. The server closes it after 90 s; closing it earlier avoids writing to a closed
one."""
MAX_IDLE: Final = 4
_KEEPALIVE: Final = (
    # detects a vanished peer within 30 s, also on a silent watch
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)


class Connections:
    """The connections of one client certificate."""

    def __init__(self, access: ServerAccess, certificate: ClientKeyPair) -> None:
        """Raises NoCredentials."""
        self.certificate = certificate
        self._tls = context(access, certificate) if access.server.startswith("https:") else None
        self._backend: httpcore.AsyncNetworkBackend = NetworkBackend()
        proxy = proxy_for(access.server, access.proxy)
        if proxy:
            self._backend = ProxyBackend(proxy, self._backend)
        self.calls, self.watches = self._pool(), self._pool()
        self._in_flight = 0
        """The number of calls under way."""
        self.retired = False
        """Newer connections exist: close these after the last call."""

    def _pool(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls,
            max_connections=None,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=self._backend,
            socket_options=_KEEPALIVE,
        )

    async def drop_idle(self) -> None:
        """Close the idle connections: after one failure all of them may be dead."""
        for pool in (self.calls, self.watches):
            for connection in pool.connections:
                if connection.is_idle():
                    await connection.aclose()

    async def retire(self) -> None:
        """End the watches; calls under way still complete."""
        self.retired = True
        await self.watches.aclose()
        await self._close_if_done()

    def call_starts(self) -> None:
        self._in_flight += 1

    async def call_ends(self) -> None:
        self._in_flight -= 1
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self.retired and not self._in_flight:
            await self.calls.aclose()

    async def close(self) -> None:
        self.retired = True
        await self.watches.aclose()
        await self.calls.aclose()
