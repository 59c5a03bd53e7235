"""tornado's server with limits on all connections, and on those without an authenticated request."""

from __future__ import annotations

import errno
import socket
from collections import OrderedDict
from collections.abc import Iterable
from contextvars import Context
from typing import Any, Final

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

MAX_CONNECTIONS: Final = 512
"""A connection costs about 100 KiB with TLS. Streams have a limit of their own."""
MAX_UNAUTHENTICATED: Final = 128
"""Of these, connections without an authenticated request. The oldest is closed for a new one, so that silent callers
lock nobody out."""
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_PAUSE_SECONDS: Final = 0.2
_BATCH: Final = 64
LIMITS: Final[dict[str, Any]] = {
    "idle_connection_timeout": 90,
    "max_header_size": 1024 * 1024,
    "max_body_size": 1024 * 1024,
    "max_buffer_size": 4 * 1024 * 1024,
    "body_timeout": 60,
    "no_keep_alive": False,
}
"""Seconds and bytes, the kubelet's where it has them. The first one also limits the time for headers."""


class BoundedServer(HTTPServer):
    """Handlers call `authenticated` when they have authenticated a request on a connection."""

    def initialize(
        self,
        *args: Any,
        max_connections: int = MAX_CONNECTIONS,
        max_unauthenticated: int = MAX_UNAUTHENTICATED,
        **kw: Any,
    ) -> None:
        super().initialize(*args, **{**LIMITS, **kw})
        self._max_connections, self._max_unauthenticated = max_connections, max_unauthenticated
        self._unauthenticated: OrderedDict[IOStream, None] = OrderedDict()
        self._authenticated: set[IOStream] = set()

    def authenticated(self, stream: IOStream) -> None:
        """A request on this connection was authenticated."""
        if stream in self._unauthenticated:
            del self._unauthenticated[stream]
            self._authenticated.add(stream)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept here: tornado would retry in a busy loop while no file descriptors are left."""
        for sock in sockets:
            self._sockets[sock.fileno()] = sock
            self._listen(sock)

    def _listen(self, sock: socket.socket) -> None:
        if sock.fileno() < 0:
            return  # it was closed
        loop = IOLoop.current()
        # the handler must not inherit the context of the task that began to listen
        Context().run(loop.add_handler, sock, lambda *_: self._accept(sock), IOLoop.READ)
        self._handlers[sock.fileno()] = lambda: loop.remove_handler(sock)

    def _accept(self, sock: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                connection, address = sock.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._handlers[sock.fileno()]()
                self._handlers[sock.fileno()] = lambda: None
                IOLoop.current().call_later(_PAUSE_SECONDS, self._listen, sock)
                return
            connection.setblocking(False)
            self._handle_connection(connection, address)

    def _handle_connection(self, connection: socket.socket, address: Any) -> None:
        if self._connection_count >= self._max_connections and not self._unauthenticated:
            connection.close()
            return
        super()._handle_connection(connection, address)

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        while self._unauthenticated and self._full():
            oldest, _ = self._unauthenticated.popitem(last=False)
            oldest.close()
        self._unauthenticated[stream] = None
        super().handle_stream(stream, address)

    @property
    def _connection_count(self) -> int:
        return len(self._unauthenticated) + len(self._authenticated)

    def _full(self) -> bool:
        if len(self._unauthenticated) >= self._max_unauthenticated:
            return True
        return self._connection_count >= self._max_connections

    def on_close(self, server_conn: Any) -> None:
        """Called by tornado when a connection has ended, or has become a stream."""
        self._unauthenticated.pop(server_conn.stream, None)
        self._authenticated.discard(server_conn.stream)
        super().on_close(server_conn)
