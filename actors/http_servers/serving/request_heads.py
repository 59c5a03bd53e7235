"""Reads the heads of requests, within limits that tornado does not have.

The head of an unauthenticated request must be small and have few lines. Reading a MiB that comes in pieces scans each
byte again with each piece, and a MiB of empty headers takes half a second and 30 MB: a few such heads at once would
block the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from tornado.iostream import IOStream, SSLIOStream, StreamClosedError

from actors.http_servers.tls.client_identity import BadClientCertificate, identity_on

UNAUTHENTICATED_BYTES: Final = 64 * 1024
"""The limit in bytes for unauthenticated callers. A caller with a valid client certificate, such as the API server, or
that was authenticated on this connection, may send a MiB: the command of an exec is in the path."""
MAX_LONG_BYTES: Final = 16 << 20
"""The most bytes of all unfinished heads with more than UNAUTHENTICATED_BYTES. Above it, the oldest is refused: callers
with a certificate, whom nobody has authorized yet, must not fill the memory."""
MAX_LINES: Final = 256
_TOO_MANY_LINES: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)
END: Final = rb"\n\r?\n"
"""Finds the same ends as tornado's pattern, which tries each byte in turn: in a MiB without an end that takes 20 ms
with each piece that comes, and this a thirtieth."""
Read = Callable[..., Awaitable[bytes]]


class LongHeads:
    """The unfinished long heads of a server's connections, the oldest first."""

    def __init__(self, most_bytes: int = MAX_LONG_BYTES) -> None:
        self._most_bytes = most_bytes
        self._sizes: dict[IOStream, int] = {}
        self._refused: set[IOStream] = set()

    def grow(self, stream: IOStream, size: int) -> None:
        """A head on this connection has `size` bytes, and no end yet. Closes the connections with the oldest heads."""
        if size <= UNAUTHENTICATED_BYTES or stream in self._refused:
            return
        self._sizes[stream] = size
        while sum(self._sizes.values()) > self._most_bytes:
            oldest = next(iter(self._sizes))
            del self._sizes[oldest]
            self._refused.add(oldest)
            asyncio.get_running_loop().call_soon(oldest.close)  # it may be in the middle of a read

    def end(self, stream: IOStream) -> None:
        """The head is complete, or its connection has ended."""
        self._sizes.pop(stream, None)
        self._refused.discard(stream)


class RequestHeads:
    """Reads the request heads of one connection. `is_known`: whether a request on it was authenticated. `long_heads`:
    those of all connections."""

    def __init__(self, stream: IOStream, is_known: Callable[[], bool], long_heads: LongHeads) -> None:
        self._stream, self._is_known, self._long_heads = stream, is_known, long_heads
        self._read: Read = stream.read_until_regex
        self._check_size: Callable[[Any, int], None] = stream._check_max_bytes
        stream._check_max_bytes = self._grown  # type: ignore[method-assign,assignment]
        self._has_certificate: bool | None = None
        """None: the handshake is not over."""

    async def __call__(self, end: bytes, max_bytes: int | None = None) -> bytes:
        """Replaces the stream's `read_until_regex`, by which tornado reads each head up to its `end`. Raises
        StreamClosedError, UnsatisfiableReadError."""
        if self._has_certificate is None:
            self._has_certificate = await self._show_certificate()
        if self._stream.closed():  # tornado would still answer requests in its buffer
            raise StreamClosedError
        most = max_bytes if self._has_certificate or self._is_known() else UNAUTHENTICATED_BYTES
        try:
            head = await self._read(END, max_bytes=most)
        finally:
            self._long_heads.end(self._stream)
        if head.count(b"\n") <= MAX_LINES:
            return head
        await self._stream.write(_TOO_MANY_LINES)
        self._stream.close()
        raise StreamClosedError

    def _grown(self, end: Any, size: int) -> None:
        """tornado calls it when more of the head has come. Raises UnsatisfiableReadError."""
        self._long_heads.grow(self._stream, size)
        self._check_size(end, size)

    async def _show_certificate(self) -> bool:
        stream: Any = self._stream
        if not isinstance(stream, SSLIOStream):
            return False
        if stream.closed():  # no event would report the end of its handshake
            raise StreamClosedError
        try:
            await stream.wait_for_handshake()
        except OSError as error:  # tornado has reported it, and accepts only its own error as the end of a connection
            raise StreamClosedError(error) from None
        try:
            return identity_on(stream.socket) is not None
        except BadClientCertificate:
            return False
