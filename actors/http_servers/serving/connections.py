"""tornado's server with limits on all connections, and on those without an authenticated request."""

from __future__ import annotations

import errno
import socket
import struct
import time
from asyncio import Future
from collections import Counter, OrderedDict
from collections.abc import Iterable
from contextvars import Context
from typing import Any, Final

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream, SSLIOStream
from tornado.netutil import ssl_wrap_socket

from supervision.time_scale import scaled

from .request_heads import MAX_LONG_BYTES, LongHeads, RequestHeads

MAX_AUTHENTICATED: Final = 384
"""The most authenticated connections; each costs about 100 KiB with TLS. Streams have a limit of their own. Above the
limit, the oldest connection of the user with the most is closed, so that one user cannot block others."""
MAX_UNAUTHENTICATED: Final = 256
"""The most connections without an authenticated request. Above the limit, one is closed, so that silent callers cannot
block others: the oldest of those whose callers have sent nothing, else the oldest."""
HANDSHAKE_SECONDS: Final = 2.0
"""While each of them is in its handshake and younger, further callers wait in the kernel's queue: many may come in one
moment, and a handshake may take long on a busy machine."""
MAX_UNREAD_BYTES: Final = 64 << 20
"""The limit of unread answers, in bytes. Above it, the connection that has been slow for the longest time is closed: a
caller that does not read its answers must not fill the memory."""
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_PAUSE_SECONDS: Final = 0.2
_BATCH: Final = 16
"""The most connections accepted in one turn of the loop: each handshake takes some milliseconds."""
_POLL_SECONDS: Final = 10.0
"""Seconds between checks for clients that are gone: an answer may follow a log for days."""
_ROOM_SECONDS: Final = 0.05
"""Seconds between checks for the end of a handshake."""
_RECEIVED: Final = struct.Struct("=128xQ")
"""tcpi_bytes_received of struct tcp_info (linux/tcp.h)."""
_ESTABLISHED: Final = 1
"""The state of a connection that the client has not closed in either direction (tcp(7), TCP_INFO)."""
LIMITS: Final[dict[str, Any]] = {
    "idle_connection_timeout": 90,
    "max_header_size": 1024 * 1024,
    "max_body_size": 4 * 1024,  # no endpoint reads more than a number
    "max_buffer_size": 4 * 1024 * 1024,
    "body_timeout": 60,
    "no_keep_alive": False,
}
"""Seconds and bytes, as in the kubelet where it sets them. The first one also limits the time for headers."""


class BoundedServer(HTTPServer):
    """Handlers call `authenticated` when they have authenticated a request on a connection."""

    def initialize(
        self,
        *args: Any,
        max_authenticated: int = MAX_AUTHENTICATED,
        max_unauthenticated: int = MAX_UNAUTHENTICATED,
        max_unread_bytes: int = MAX_UNREAD_BYTES,
        max_long_heads_bytes: int = MAX_LONG_BYTES,
        poll_seconds: float = _POLL_SECONDS,
        **kw: Any,
    ) -> None:
        super().initialize(*args, **{**LIMITS, **kw})
        self._max_authenticated, self._max_unauthenticated = max_authenticated, max_unauthenticated
        self._max_unread_bytes, self._poll_seconds = max_unread_bytes, poll_seconds
        self._unread: dict[IOStream, int] = {}
        """By connection: bytes of the answer that is being sent; the oldest first."""
        self._unauthenticated: OrderedDict[IOStream, float] = OrderedDict()
        """The time, monotonic, at which each was accepted; the oldest first."""
        self._owners: dict[IOStream, str] = {}
        """Users by authenticated connection, the oldest first."""
        self._looks, self._long_heads = False, LongHeads(max_long_heads_bytes)

    def authenticated(self, stream: IOStream, user: str) -> None:
        """A request of this user on this connection was authenticated."""
        if stream in self._unauthenticated:
            del self._unauthenticated[stream]
            self._owners[stream] = user
        while len(self._owners) > self._max_authenticated:
            largest_owner = Counter(self._owners.values()).most_common(1)[0][0]
            oldest = next(one for one, owner in self._owners.items() if owner == largest_owner)
            del self._owners[oldest]
            oldest.close()

    def answering(self, stream: IOStream, size: int, written: Future[None]) -> None:
        """An answer of this many bytes is being sent, until `written` is called."""
        if written.done():
            return
        self._unread[stream] = size
        written.add_done_callback(lambda _: self._unread.pop(stream, None))
        while len(self._unread) > 1 and sum(self._unread.values()) > self._max_unread_bytes:
            slowest = next(iter(self._unread))
            del self._unread[slowest]
            slowest.close()

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections here, because tornado retries in a busy loop while no file descriptors are left."""
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
            if self._is_busy():
                self._pause(sock, _ROOM_SECONDS)
                return
            try:
                connection, address = sock.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(sock, _PAUSE_SECONDS)
                return
            connection.setblocking(False)
            self._open(connection, address)

    def _pause(self, sock: socket.socket, seconds: float) -> None:
        """Leave callers in the kernel's queue for so long."""
        self._handlers[sock.fileno()]()
        self._handlers[sock.fileno()] = lambda: None
        IOLoop.current().call_later(seconds, self._listen, sock)

    def _is_busy(self) -> bool:
        """Whether no connection can be accepted without closing one in its handshake."""
        if self.ssl_options is None or len(self._unauthenticated) < self._max_unauthenticated:
            return False
        oldest_at = next(iter(self._unauthenticated.values()))
        return time.monotonic() - oldest_at < scaled(HANDSHAKE_SECONDS) and self._silent() is None

    def _silent(self) -> IOStream | None:
        """The oldest unauthenticated connection whose caller has sent nothing."""
        return next((one for one in self._unauthenticated if one.closed() or not _has_sent(one.socket)), None)

    def _open(self, connection: socket.socket, address: Any) -> None:
        """tornado's own method loads the host's CA certificates at the first connection, in 30 ms and 1 MiB, which no
        server reads."""
        sizes: dict[str, Any] = {"max_buffer_size": self.max_buffer_size, "read_chunk_size": self.read_chunk_size}
        if self.ssl_options is None:
            self.handle_stream(IOStream(connection, **sizes), address)
            return
        try:
            wrapped = ssl_wrap_socket(connection, self.ssl_options, server_side=True, do_handshake_on_connect=False)
        except OSError:  # the client is gone
            connection.close()
            return
        self.handle_stream(SSLIOStream(wrapped, ssl_options=self.ssl_options, **sizes), address)

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        while len(self._unauthenticated) >= self._max_unauthenticated:
            left_out = self._silent() or next(iter(self._unauthenticated))
            del self._unauthenticated[left_out]
            left_out.close()
        self._unauthenticated[stream] = time.monotonic()
        heads = RequestHeads(stream, lambda: stream in self._owners, self._long_heads)
        stream.read_until_regex = heads  # type: ignore[method-assign,assignment]
        super().handle_stream(stream, address)
        self._look_later()

    def _look_later(self) -> None:
        if not self._looks:
            self._looks = True
            # not in the context of the request during which a connection came
            Context().run(IOLoop.current().call_later, self._poll_seconds, self._end_what_was_left)

    def _end_what_was_left(self) -> None:
        """Close the connections whose clients are gone. While a request is answered, tornado stops reading after what
        the client has sent in advance, so it does not notice the end."""
        self._looks = False
        for stream in [*self._unauthenticated, *self._owners]:
            if not stream.closed() and not stream.reading() and has_left(stream.socket):
                stream.close()
        if self._unauthenticated or self._owners:
            self._look_later()

    def on_close(self, server_conn: Any) -> None:
        """Called by tornado when a connection has ended, or has become a stream."""
        self._unauthenticated.pop(server_conn.stream, None)
        self._owners.pop(server_conn.stream, None)
        super().on_close(server_conn)


def _has_sent(sock: socket.socket) -> bool:
    """Whether the other end has sent a byte, read or not."""
    (received,) = _RECEIVED.unpack(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size))
    return bool(received)


def has_left(sock: socket.socket) -> bool:
    """Whether the other end has closed the connection, even if unread bytes are left."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != _ESTABLISHED
