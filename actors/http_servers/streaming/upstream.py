"""Connects to the runtime's streaming server with the caller's request, and reads the head of the answer.

Over TLS the server's certificate is verified with the CAs that this machine trusts, as in the kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec
from tornado.gen import with_timeout
from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream, StreamClosedError, UnsatisfiableReadError
from tornado.tcpclient import TCPClient
from tornado.util import TimeoutError as TornadoTimeout

from actors.shared.http_get.trust import system_trust
from supervision.time_scale import scaled

from .runtime_stream import connected

HANDSHAKE_SECONDS: Final = 30.0
HEAD_BYTES: Final = 64 << 10
BODY_BYTES: Final = 64 << 10
_PORTS: Final = {"http": 80, "https": 443}
_END: Final = rb"\r?\n\r?\n"
FORWARDED: Final = (
    "Upgrade",
    "X-Stream-Protocol-Version",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Extensions",
    "Origin",
    "User-Agent",
)
"""Headers of the caller that are forwarded: all but its credentials."""


class UpstreamError(Exception):
    """The runtime's streaming server cannot be reached, or its answer cannot be read."""


class UpstreamResponse(msgspec.Struct, frozen=True):
    """`head` as received; `body` of an error only."""

    status: int
    head: bytes
    body: str = ""


async def open_upstream(url: str, method: str, headers: HTTPHeaders) -> tuple[IOStream, UpstreamResponse]:
    """The connection and the runtime's answer. Unless that is 101 the connection is closed. Raises UpstreamError."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UpstreamError(f"the runtime's streaming URL has no http or https address: {url[:80]!r}")
    stream: IOStream | None = None
    limit = timedelta(seconds=scaled(HANDSHAKE_SECONDS))
    try:
        port = parts.port or _PORTS[parts.scheme]
        if parts.scheme == "https":
            trusted = system_trust()
            stream = await TCPClient().connect(parts.hostname, port, ssl_options=trusted, timeout=limit)
        else:
            stream = await with_timeout(limit, connected(parts.hostname, port))
        stream.set_nodelay(True)
        await with_timeout(limit, stream.write(_request(parts.netloc, parts.path, parts.query, method, headers)))
        head = await with_timeout(limit, stream.read_until_regex(_END, max_bytes=HEAD_BYTES))
        status = _status(head)
        if status == 101:
            return stream, UpstreamResponse(status, head)
        body = await with_timeout(limit, _body(stream))
        stream.close()
        return stream, UpstreamResponse(status, head, body)
    except (OSError, StreamClosedError, UnsatisfiableReadError, TornadoTimeout, ValueError) as error:
        if stream is not None:
            stream.close()
        reason = error.real_error or error if isinstance(error, StreamClosedError) else error
        raise UpstreamError(f"the runtime's streaming server: {reason or type(reason).__name__}") from None


def _request(host: str, path: str, query: str, method: str, headers: HTTPHeaders) -> bytes:
    lines = [f"{method} {path or '/'}{'?' + query if query else ''} HTTP/1.1", f"Host: {host}", "Connection: Upgrade"]
    lines += [f"{name}: {value}" for name in FORWARDED for value in headers.get_list(name)]
    if method == "POST":
        lines.append("Content-Length: 0")
    return _latin([*lines, "", ""])


def _latin(lines: Iterable[str]) -> bytes:
    return "\r\n".join(lines).encode("latin-1", "replace")


def _status(head: bytes) -> int:
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/1."):
        raise ValueError("it does not speak HTTP")
    return int(words[1])


async def _body(stream: IOStream) -> str:
    """The text of an error, as far as it can be read before the runtime closes the connection."""
    found = b""
    try:
        while len(found) < BODY_BYTES:
            found += await with_timeout(timedelta(seconds=0.5), stream.read_bytes(BODY_BYTES, partial=True))
    except (StreamClosedError, TornadoTimeout):
        pass
    return found.decode(errors="replace")
