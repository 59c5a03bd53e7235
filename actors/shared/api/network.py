"""TCP and TLS streams for httpcore, on asyncio's own transports.

httpcore's own backend for asyncio runs on anyio, which enters a cancel scope and gives the loop a turn for each read
and write, and head and body of a request go out one by one. With this one a request takes a third less processor
time.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import httpcore

from supervision.errors import error_reason

MOST_UNREAD: Final = 256 * 1024
"""Bytes that were received and not read yet. With more, the peer has to wait."""
MOST_UNSENT: Final = 64 * 1024
"""Bytes that wait for the end of the loop's turn."""
_NEXT_ADDRESS_SECONDS: Final = 0.25
"""An address of the server that does not answer so long is tried beside the next one (RFC 8305)."""

_LATER_SECONDS: Final = 1.0
"""asyncio's own limit of a handshake comes after the caller's, whose error it would hide."""


class NetworkBackend(httpcore.AsyncNetworkBackend):
    """Opens the streams."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises ConnectError, ConnectTimeout."""
        async with _connecting(timeout):
            transport, received = await asyncio.get_running_loop().create_connection(
                ReceivedData,
                host,
                port,
                happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                local_addr=(local_address, 0) if local_address else None,
            )
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return NetworkStream(transport, received)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ReceivedData(asyncio.Protocol):
    """What a transport has received and nobody has read."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data = bytearray()
        self._paused = False
        self._ended = False
        self._error: Exception | None = None
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_readable(self) -> bool:
        """Whether there is data, or the end of it."""
        return self._arrived.is_set()

    async def read(self, most: int) -> bytes:
        """Wait for data and return up to `most` bytes of it; b'' at its end. Raises ReadError."""
        await self._arrived.wait()
        if not self._data:
            if self._error is not None:
                raise httpcore.ReadError(error_reason(self._error))
            return b""
        data = bytes(self._data[:most])
        del self._data[:most]
        if not self._data and not self._ended:
            self._arrived.clear()
        if self._paused and len(self._data) <= MOST_UNREAD // 2:
            self._pause(False)
        return data

    @property
    def is_writable(self) -> bool:
        """Whether the transport takes more at once, or has failed."""
        return self._writable.is_set()

    async def room(self) -> None:
        """Wait until the transport takes more. Raises WriteError."""
        await self._writable.wait()
        if self._error is not None:
            raise httpcore.WriteError(error_reason(self._error))

    def _pause(self, paused: bool) -> None:
        self._paused = paused
        if self._transport is not None:
            (self._transport.pause_reading if paused else self._transport.resume_reading)()

    # -- calls of the transport ---------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a stream
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._arrived.set()
        if len(self._data) > MOST_UNREAD and not self._paused:
            self._pause(True)

    def eof_received(self) -> None:
        self._ended = True
        self._arrived.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended, self._error, self._transport = True, error, None
        self._arrived.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()


class NetworkStream(httpcore.AsyncNetworkStream):
    """A connection."""

    def __init__(self, transport: asyncio.Transport, received: ReceivedData) -> None:
        self._transport, self._received = transport, received
        self._unsent = bytearray()
        """Written in this turn of the loop: head and body of a request go out together."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Raises ReadError, ReadTimeout."""
        try:
            if self._received.is_readable:
                return await self._received.read(max_bytes)
            async with asyncio.timeout(timeout):
                return await self._received.read(max_bytes)
        except TimeoutError:
            raise httpcore.ReadTimeout(f"nothing was received within {timeout} s") from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Raises WriteError, WriteTimeout."""
        if not buffer:
            return
        if self._transport.is_closing():
            raise httpcore.WriteError("the connection is closed")
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._send)
        self._unsent += buffer
        if len(self._unsent) > MOST_UNSENT:
            self._send()
        if self._received.is_writable:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._received.room()
        except TimeoutError:
            raise httpcore.WriteTimeout(f"the peer takes nothing since {timeout} s") from None

    def _send(self) -> None:
        data, self._unsent = self._unsent, bytearray()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    async def aclose(self) -> None:
        """All answers were read, or none is wanted any more: nothing waits for the peer to close its side."""
        self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Raises ConnectError, ConnectTimeout; the connection is closed then."""
        received = ReceivedData()
        try:
            async with _connecting(timeout):
                transport = await asyncio.get_running_loop().start_tls(
                    self._transport,
                    received,
                    ssl_context,
                    server_hostname=server_hostname,
                    ssl_handshake_timeout=None if timeout is None else timeout + _LATER_SECONDS,
                )
                if transport is None:
                    raise ConnectionResetError("the connection was closed in the TLS handshake")
        except BaseException:
            self._transport.abort()
            raise
        received.connection_made(transport)
        return NetworkStream(transport, received)

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._received.is_readable
        return self._transport.get_extra_info(_NAMES.get(info, info))


_NAMES: Final = {"client_addr": "sockname", "server_addr": "peername"}


@asynccontextmanager
async def _connecting(timeout: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout):
            yield
    except OSError as error:
        if isinstance(error, TimeoutError) and not error.errno:
            raise httpcore.ConnectTimeout(f"no connection within {timeout} s") from None
        raise httpcore.ConnectError(_cause(error)) from None


def _cause(error: OSError) -> str:
    """asyncio's own text of a refused connection names the address in place of the cause."""
    if isinstance(error, ssl.SSLError):
        return str(error)
    if not error.errno or error.errno < 0:  # several addresses, or the lookup of the name
        return error_reason(error)
    return f"connect: {os.strerror(error.errno).lower()}"
