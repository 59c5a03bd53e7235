"""HTTP/1.1 over TLS: h11 for the words, asyncio for the bytes, so that a connection can be cut, held or handed over."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus

import h11

from tests.support.tcp_ports import held_port

from .request import Answer, Drop, Hijack, Reply, Request, Stream

PIECE = 1 << 16
Handler = Callable[[Request, ssl.SSLObject], Awaitable[Reply]]
_GONE = (ConnectionError, ssl.SSLError, h11.RemoteProtocolError, TimeoutError, OSError)


class Reader(asyncio.StreamReader):
    """Tells of the end as soon as it comes, also while nobody reads."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


class HttpServer:
    """Each connection is a task."""

    def __init__(self, handler: Handler, context: ssl.SSLContext) -> None:
        self._handler, self._context = handler, context
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = None
        """Keeps the port also while nobody listens there."""
        self.connections = 0
        """So many there have been."""
        self._tasks = set[asyncio.Task[None]]()
        self._writers = set[asyncio.StreamWriter]()

    async def start(self, address: str, port: int) -> int:
        """The port."""
        loop = asyncio.get_running_loop()
        if self._held is None:
            self._held = held_port(address, port)
        port = int(self._held.getsockname()[1])

        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(Reader(loop=loop), self._accept, loop=loop)

        self._server = await loop.create_server(protocol, address, port, ssl=self._context, backlog=256)
        return port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.drop_connections()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def give_port_back(self) -> None:
        """It will not listen again."""
        if self._held is not None:
            self._held.close()

    def drop_connections(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(reader, Reader)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            self.connections += 1
            await Connection(self._handler, reader, writer, self.connections).serve()
        except (*_GONE, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()


class Connection:
    def __init__(self, handler: Handler, reader: Reader, writer: asyncio.StreamWriter, number: int) -> None:
        self._handler, self._reader, self._writer, self._number = handler, reader, writer, number
        self._h11 = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        while (request := await self._request()) is not None:
            request.connection = self._number
            reply = await self._until_gone(self._handler(request, self._writer.get_extra_info("ssl_object")))
            if reply is None or isinstance(reply, Drop):
                return
            if isinstance(reply, Hijack):
                await reply.take(self._reader, self._writer, self._h11.trailing_data[0])
                return
            if isinstance(reply, Stream):
                await self._stream(request, reply)
            else:
                await self._answer(request, reply)
            if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
                return
            self._h11.start_next_cycle()

    async def _request(self) -> Request | None:
        head: h11.Request | None = None
        body: list[bytes] = []
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                if self._h11.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                self._h11.receive_data(await self._reader.read(PIECE))
            elif isinstance(event, h11.Request):
                head = event
                if _upgrades(event):  # its body, if any, belongs to whoever takes the connection over
                    return _request(head, b"")
            elif isinstance(event, h11.Data):
                body.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, b"".join(body))
            else:
                return None

    async def _until_gone(self, work: Awaitable[Reply]) -> Reply | None:
        """The reply; None, and the work is cancelled, when the client leaves before there is one."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._reader.gone.wait())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for one in (task, gone):
                one.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)

    async def _send(self, *events: h11.Event) -> None:
        for event in events:
            data = self._h11.send(event)
            if data:
                self._writer.write(data)
        await self._writer.drain()

    async def _answer(self, request: Request, reply: Answer) -> None:
        body = b"" if request.method == "HEAD" else reply.body
        headers = [
            ("Content-Type", reply.content_type),
            ("Date", formatdate(usegmt=True)),
            ("Content-Length", str(len(reply.body))),
            ("Cache-Control", "no-cache, private"),
            *reply.headers,
        ]
        await self._send(
            h11.Response(status_code=reply.status, reason=_reason(reply.status), headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )

    async def _stream(self, request: Request, reply: Stream) -> None:
        headers = [
            ("Content-Type", reply.content_type),
            ("Date", formatdate(usegmt=True)),
            ("Transfer-Encoding", "chunked"),
            ("Cache-Control", "no-cache"),
            *([("Content-Encoding", reply.content_encoding)] if reply.content_encoding else []),
        ]
        await self._send(h11.Response(status_code=200, headers=headers))

        async def pump() -> None:
            async for piece in reply.pieces:
                await self._send(h11.Data(data=piece))
            await self._send(h11.EndOfMessage())

        task, gone = asyncio.ensure_future(pump()), asyncio.ensure_future(self._reader.gone.wait())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        finally:
            task.cancel()
            gone.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)
            with contextlib.suppress(RuntimeError):
                await reply.pieces.aclose()  # type: ignore[attr-defined]


def _upgrades(request: h11.Request) -> bool:
    headers = {bytes(name): bytes(value) for name, value in request.headers}
    return b"upgrade" in headers.get(b"connection", b"").lower() and b"upgrade" in headers


def _request(head: h11.Request, body: bytes) -> Request:
    lines = [(bytes(name).decode().lower(), bytes(value).decode("latin-1")) for name, value in head.headers]
    return Request(bytes(head.method).decode(), bytes(head.target).decode("latin-1"), dict(lines), body, lines=lines)


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""
