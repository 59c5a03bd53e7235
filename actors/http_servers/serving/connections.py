"""tornado's server with limits: on all connections, and on those of callers that have not been authenticated."""

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

MOST_CONNECTIONS: Final = 512
"""A connection costs about 100 KiB with TLS. Streams have a limit of their own."""
MOST_UNKNOWN: Final = 128
"""Of those, connections without an authenticated request. The oldest is closed for a new one, so that silent callers
keep nobody out."""
_SHORT: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_PAUSE_SECONDS: Final = 0.2
_AT_ONCE: Final = 64
LIMITS: Final[dict[str, Any]] = {
    "idle_connection_timeout": 90,
    "max_header_size": 1024 * 1024,
    "max_body_size": 1024 * 1024,
    "max_buffer_size": 4 * 1024 * 1024,
    "body_timeout": 60,
    "no_keep_alive": False,
}
"""Seconds and bytes, as in the reference where it has them. The first one also limits the time for headers."""


class BoundedServer(HTTPServer):
    """`known` is told when a request on a connection was authenticated."""

    def initialize(self, *args: Any, most: int = MOST_CONNECTIONS, most_unknown: int = MOST_UNKNOWN, **kw: Any) -> None:
        super().initialize(*args, **{**LIMITS, **kw})
        self._most, self._most_unknown = most, most_unknown
        self._unknown: OrderedDict[IOStream, None] = OrderedDict()
        self._known: set[IOStream] = set()

    def known(self, stream: IOStream) -> None:
        """A request on it was authenticated."""
        if stream in self._unknown:
            del self._unknown[stream]
            self._known.add(stream)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept by ourselves: tornado would try again at once, for ever, while no file descriptors are left."""
        for sock in sockets:
            self._sockets[sock.fileno()] = sock
            self._listen(sock)

    def _listen(self, sock: socket.socket) -> None:
        if sock.fileno() < 0:
            return  # it was closed
        loop = IOLoop.current()
        # a connection is nobody's work yet, least of all that of the task which began to listen
        Context().run(loop.add_handler, sock, lambda *_: self._accept(sock), IOLoop.READ)
        self._handlers[sock.fileno()] = lambda: loop.remove_handler(sock)

    def _accept(self, sock: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = sock.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in _SHORT:
                    raise
                self._handlers[sock.fileno()]()
                self._handlers[sock.fileno()] = lambda: None
                IOLoop.current().call_later(_PAUSE_SECONDS, self._listen, sock)
                return
            connection.setblocking(False)
            self._handle_connection(connection, address)

    def _handle_connection(self, connection: socket.socket, address: Any) -> None:
        if len(self._unknown) + len(self._known) >= self._most and not self._unknown:
            connection.close()
            return
        super()._handle_connection(connection, address)

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        while self._unknown and self._full():
            oldest, _ = self._unknown.popitem(last=False)
            oldest.close()
        self._unknown[stream] = None
        super().handle_stream(stream, address)

    def _full(self) -> bool:
        return len(self._unknown) >= self._most_unknown or len(self._unknown) + len(self._known) >= self._most

    def on_close(self, server_conn: Any) -> None:
        """tornado calls it when a connection has ended or has become a stream."""
        self._unknown.pop(server_conn.stream, None)
        self._known.discard(server_conn.stream)
        super().on_close(server_conn)
