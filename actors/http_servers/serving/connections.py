"""tornado's server with bounds: how many connections there are, and how many of callers that nobody knows yet."""

from __future__ import annotations

import errno
import socket
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

MOST_CONNECTIONS: Final = 512
"""Each costs some 100 KiB with TLS. Streams are counted apart, once they run."""
MOST_UNKNOWN: Final = 128
"""Of those, without a request that got in. One more, and the oldest is closed: silence does not keep others out."""
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
"""Seconds and bytes; those of the reference where it has them. The first one bounds how long headers may take, too."""


class BoundedServer(HTTPServer):
    """`known` says that a connection's caller got in."""

    def initialize(self, *args: Any, most: int = MOST_CONNECTIONS, most_unknown: int = MOST_UNKNOWN, **kw: Any) -> None:
        super().initialize(*args, **{**LIMITS, **kw})
        self._most, self._most_unknown = most, most_unknown
        self._unknown: OrderedDict[IOStream, None] = OrderedDict()
        self._known: set[IOStream] = set()

    def known(self, stream: IOStream) -> None:
        """A request on it got in."""
        if stream in self._unknown:
            del self._unknown[stream]
            self._known.add(stream)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """tornado's own would try again at once, without end, while there are no file descriptors left."""
        for sock in sockets:
            self._sockets[sock.fileno()] = sock
            self._listen(sock)

    def _listen(self, sock: socket.socket) -> None:
        if sock.fileno() < 0:
            return  # closed meanwhile
        loop = IOLoop.current()
        loop.add_handler(sock, lambda *_: self._accept(sock), IOLoop.READ)
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
        """tornado's, of a connection that ended or became a stream."""
        self._unknown.pop(server_conn.stream, None)
        self._known.discard(server_conn.stream)
        super().on_close(server_conn)
