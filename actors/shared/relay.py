"""A Unix socket that starts its gRPC server for the first client.

gRPC costs an actor several megabytes, and most nodes have no client. This relay listens, and copies each connection to
the gRPC server's own socket.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from typing import Final

from supervision.actor import Actor
from supervision.messaging import accept_limit

CHUNK_BYTES: Final = 64 * 1024
LOOK_SECONDS: Final = 10.0
"""How often the actor of a relay asks whether its socket is still there."""
MAX_CLIENTS: Final = 64
"""The most connections. Above it the oldest is closed, so that one client with many cannot block others."""


def is_socket(path: str) -> bool:
    """Whether a socket is at the path; a symlink to one does not count."""
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def listen(path: str, mode: int = 0o660) -> socket.socket:
    """A bound socket at the path; it replaces the socket of an ended process.

    Raises OSError; FileExistsError for a path that is no socket (such as a symlink), which is not removed.
    """
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} exists and is no socket")
        os.unlink(path)
    except FileNotFoundError:
        pass
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    before = os.umask(0o177)  # no other user can connect, not even for a moment
    try:
        sock.bind(path)
        os.chmod(path, mode)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    return sock


def kept_socket(actor: Actor, path: str) -> socket.socket:
    """The socket of the actor's last incarnation, while it is at the path; else a new one. Raises OSError."""
    label = f"unix:{path}"
    sockets = actor.listen(label, lambda: [listen(path)])
    if not is_socket(path):  # an inherited socket without its file: no client can find it
        sockets[0].close()
        sockets = actor.listen(label, lambda: [listen(path)])
    return sockets[0]


class Relay:
    """Connects each client to the Unix socket that `start` returns; `start` is called for the first client."""

    def __init__(self, start: Callable[[], Awaitable[str]]) -> None:
        self._start = start
        self._target: asyncio.Future[str] | None = None
        self._clients: dict[asyncio.StreamWriter, None] = {}
        """The oldest first."""
        self.server: asyncio.Server | None = None
        self._path = ""

    @property
    def removed(self) -> bool:
        """Whether another program has removed the socket, so that no client can find it."""
        return self.server is not None and not is_socket(self._path)

    def stop_listening(self) -> None:
        """Its clients stay connected."""
        if self.server is not None:
            self.server.close()
            self.server = None

    async def open(self, sock: socket.socket) -> None:
        self._path = sock.getsockname()
        self.server = await asyncio.start_unix_server(self._client, sock=sock, backlog=accept_limit.ONE)
        accept_limit.listen_for(self.server, MAX_CLIENTS)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for writer in self._clients:
            writer.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while len(self._clients) >= MAX_CLIENTS:
            oldest = next(iter(self._clients))
            del self._clients[oldest]
            oldest.transport.abort()
        self._clients[writer] = None
        try:
            grpc_reader, grpc_writer = await asyncio.open_unix_connection(await self._find_target())
            # both directions end together: gRPC cannot use a single one
            copies = (_copy(reader, grpc_writer), _copy(grpc_reader, writer))
            directions = [asyncio.ensure_future(copy) for copy in copies]
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            for direction in directions:
                direction.cancel()
            grpc_writer.close()
        except OSError:
            pass  # the client sees the end of its connection, and retries
        finally:
            self._clients.pop(writer, None)
            writer.close()

    async def _find_target(self) -> str:
        if self._target is None:
            self._target = asyncio.ensure_future(self._start())
        try:
            return await asyncio.shield(self._target)
        except OSError:
            self._target = None  # the next client starts it again
            raise


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
