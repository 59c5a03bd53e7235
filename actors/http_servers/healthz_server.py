"""`/healthz` on 127.0.0.1:10248. It asks no other actor, so it answers in any state of the others.

It reads HTTP/1.1 itself, without the library of the node server: the process starts first, stays small, and serves
nothing else (CVE-2019-11248). Node problem detectors restart a node agent that does not answer here within 10 s.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from typing import Final, cast

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.messaging import accept_limit

from .serving.port import ConfiguredPort, serve_port

MAX_HEAD_BYTES: Final = 8192
IDLE_SECONDS: Final = 30.0
MAX_PIPELINED: Final = 16
"""The most requests in one read. A client with more is disconnected, because it would delay others."""
MAX_CONNECTIONS: Final = 128
MOST_WAITING: Final = 64
PATHS: Final = {"/healthz": b"ok", "/healthz/ping": b"ok"}


def answer(head: bytes) -> tuple[bytes, bool]:
    """The whole response to one request head (without its blank line), and whether the connection stays open. Pure."""
    line, _, fields = head.partition(b"\r\n")
    parts = line.split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
        return _response("400 Bad Request", b"bad request\n", body=True, keep=False), False
    method, target, version = parts
    headers = {name.strip().lower(): value.strip().lower() for name, _, value in map(_split, fields.split(b"\r\n"))}
    keep = headers.get(b"connection", b"keep-alive" if version == b"HTTP/1.1" else b"close") != b"close"
    if b"content-length" in headers or b"transfer-encoding" in headers:
        keep = False  # the body is not read, so no later request on the connection can be
    if method not in (b"GET", b"HEAD"):
        return _response("405 Method Not Allowed", b"method not allowed\n", body=True, keep=keep), keep
    path, _, query = target.decode("latin-1").partition("?")
    text = PATHS.get(path)
    if text is None:
        return _response("404 Not Found", b"404 page not found\n", body=method == b"GET", keep=keep), keep
    if "verbose" in query.split("&") and path == "/healthz":
        text = b"[+]ping ok\nhealthz check passed\n"
    return _response("200 OK", text, body=method == b"GET", keep=keep), keep


def _split(field: bytes) -> tuple[bytes, bytes, bytes]:
    return field.partition(b":")


def _response(status: str, text: bytes, *, body: bool, keep: bool) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"
        f"Content-Length: {len(text)}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    return head.encode() + (text if body else b"")


class HealthzConnection(asyncio.Protocol):
    """A client: request heads in, responses out. Closed when it is idle, or sends too much.

    `clients`: all connections, the longest silent ones first. At the limit the first one is closed for a new one, so
    that one client cannot block all others.
    """

    def __init__(self, clients: OrderedDict[HealthzConnection, None]) -> None:
        self._clients, self._buffer = clients, b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        while len(self._clients) >= MAX_CONNECTIONS:
            self._clients.popitem(last=False)[0].abort()
        self._clients[self] = None
        self._restart_idle_timer()

    def _restart_idle_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.abort)

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._buffer += data
        if len(self._buffer) > MAX_HEAD_BYTES:
            transport.write(_response("431 Request Header Fields Too Large", b"too large\n", body=True, keep=False))
            transport.close()
            return
        *heads, self._buffer = self._buffer.split(b"\r\n\r\n")
        for head in heads[:MAX_PIPELINED]:
            response, keep = answer(head)
            transport.write(response)
            if not keep:
                transport.close()
                return
        if len(heads) > MAX_PIPELINED:
            transport.close()
        elif heads:
            self._clients.move_to_end(self)
            self._restart_idle_timer()

    def pause_writing(self) -> None:
        """The client does not read its responses: stop reading its requests, as responses would fill the memory."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has read its responses: read requests again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._clients.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()


class HealthzServer(Actor):
    """Listens on healthzBindAddress:healthzPort; port 0 turns it off."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: OrderedDict[HealthzConnection, None] = OrderedDict()
        self.servers: list[asyncio.Server] = []

    async def on_start(self) -> None:
        config = cast(Agent, self.context).config
        where = ConfiguredPort("healthzPort", config.healthzBindAddress, config.healthzPort)
        await serve_port(self, where, MOST_WAITING, self._serve)

    async def _serve(self, sockets: list[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        for sock in sockets:
            server = await loop.create_server(
                lambda: HealthzConnection(self._clients), sock=sock, backlog=accept_limit.ONE
            )
            accept_limit.listen_for(server, MOST_WAITING)
            self.servers.append(server)
