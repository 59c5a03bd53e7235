"""The connections of one gRPC probe: gRPC's library connects to a socket of ours, and we to the pod.

The library keeps a connection for as long as its peer goes on to send, also when the channel is closed: each probe of a
server that floods frames left a connection and a busy thread, until other probes had no processor time any more
(measured on 1.85.1). Here both ends are ours: they are closed with the probe, or once the server has sent too much.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final

from actors.shared.http_get.dialer import DialError, ShortDialError, dial
from supervision.errors import error_reason
from supervision.messaging.names import peer

MOST_BYTES: Final = 256 << 10
"""How much a server may send for one probe; an answer has some hundred bytes."""
_PART_BYTES: Final = 16 << 10


class GrpcRelay:
    """An asynchronous context, in which the library may connect to `target`."""

    def __init__(self, host: str, port: int, whose: str = "") -> None:
        """`whose`: the pod's UID."""
        self._host, self._port, self._whose = host, port, whose
        self._name = f"troupelet-probe-{secrets.token_hex(16)}"
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._left = MOST_BYTES
        self._clock: asyncio.Timeout | None = None
        self.shortage = "the prober has not connected in time"
        """What this process lacked for the last connection to the pod; '' if nothing."""
        self.broken = ""
        """Why the last connection to the pod was lost, in the words of Go's client; '' if the server closed it."""

    @property
    def flooded(self) -> bool:
        """Whether the server has sent too much: there will be no answer."""
        return self._left <= 0

    @property
    def target(self) -> str:
        return f"unix-abstract:{self._name}"

    async def __aenter__(self) -> GrpcRelay:
        """Raises OSError."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            listening.bind(f"\0{self._name}")
            self._server = await asyncio.start_unix_server(self._serve, sock=listening)
        except OSError:
            listening.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """A time limit, which is over at once when the server has sent too much. Raises TimeoutError."""
        async with asyncio.timeout(seconds) as clock:
            self._clock = clock
            try:
                yield
            finally:
                self._clock = None

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = peer(writer.get_extra_info("socket"))[0] == os.getpid()
        if not own or self._server is None:  # a process in the host's network, or it was accepted before the end
            writer.transport.abort()
            return
        self.shortage = ""
        task = asyncio.get_running_loop().create_task(self._relay(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side closes its connection, which closes the other's."""
        try:
            pod_reader, pod_writer = await dial(self._host, self._port, whose=self._whose)
        except DialError as problem:  # the library tries again
            self.shortage = str(problem) if isinstance(problem, ShortDialError) else ""
            writer.transport.abort()
            return
        except BaseException:
            writer.transport.abort()
            raise
        sending = asyncio.ensure_future(self._send(reader, pod_writer))
        receiving = asyncio.ensure_future(self._receive(pod_reader, writer))
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:  # without an await first: it may be cancelled there
            for one in (writer, pod_writer):
                one.transport.abort()
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _send(self, reader: asyncio.StreamReader, pod_writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # who reads from the pod finds out why
            while part := await reader.read(_PART_BYTES):
                pod_writer.write(part)
                await pod_writer.drain()

    async def _receive(self, pod_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while part := await pod_reader.read(min(_PART_BYTES, max(1, self._left))):
                self._left -= len(part)
                if self.flooded:
                    self.broken = f"the answer has more than {MOST_BYTES} bytes"
                    if self._clock is not None:
                        self._clock.reschedule(0.0)
                    return
                writer.write(part)
                await writer.drain()
        except OSError as error:
            self.broken = error_reason(error).lower()
