"""A GET and its answer, over its own connection.

The response is parsed here, because only its status, its Location and the start of its body matter.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec

from actors.shared.kube.host_port import joined

from .chunks import BodyError
from .dialer import DialError, ShortDialError, dial
from .errors import ExchangeError, OwnShortageError
from .request import Headers, request
from .response_body import ResponseBody
from .response_bytes import ResponseBytes
from .response_head import read_head
from .url import Url

_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:@SECLEVEL=0"
"""Go's cipher suites. Older servers only have CBC with SHA-1, or a short key; servers are not authenticated anyway."""
_LEGACY_SERVERS: Final = 0x4
"""OP_LEGACY_SERVER_CONNECT, which the ssl module has from Python 3.12 on: servers without RFC 5746, as in Go."""


class HttpGetResponse(msgspec.Struct, frozen=True):
    """The part of a response that matters."""

    status: int
    location: str
    body: bytes
    """Its first bytes, see ResponseBody."""
    broken: str = ""
    """Why the body is shorter than announced, in the words of Go's HTTP client; '' if it is not."""


async def get(
    url: Url,
    headers: Headers,
    user_agent: str,
    whose: str = "",
    deadline: float | None = None,
    *,
    longer: bool = True,
) -> HttpGetResponse:
    """`whose`: the pod for which a name is looked up. `deadline`: by the clock of the loop; None: none. `longer`: see
    ResponseBody. Raises ExchangeError, and TimeoutError if there was no response by then."""
    content, secure = request(url, headers, user_agent), url.scheme == "https"
    if url.scheme not in ("http", "https"):
        raise ExchangeError(f'unsupported protocol scheme "{url.scheme}"')
    if not url.host:
        raise ExchangeError("http: no Host in request URL")
    try:
        async with asyncio.timeout_at(deadline):
            reader, writer = await dial(url.hostname, url.port, _unverified_context() if secure else None, whose)
    except ShortDialError as problem:
        raise OwnShortageError(str(problem)) from problem
    except DialError as problem:
        raise ExchangeError(str(problem)) from problem
    try:
        writer.write(content)
        received = ResponseBytes(reader)
        async with asyncio.timeout_at(deadline):
            status, fields = await read_head(received)
        body = ResponseBody(received, longer=longer)
        broken = await _whole(body, status, fields, url, writer, deadline)
        return HttpGetResponse(status, _location(fields), body.content, broken)
    except TimeoutError:
        raise
    except OSError as problem:
        raise ExchangeError(_read_text(problem, url, writer)) from problem
    finally:
        # not awaited: a TLS peer may never close its side
        writer.transport.abort() if secure else writer.close()


def _read_text(problem: OSError, url: Url, writer: asyncio.StreamWriter) -> str:
    """The error of a lost connection."""
    if not isinstance(problem, ConnectionResetError):
        return str(problem) or type(problem).__name__
    own = writer.get_extra_info("sockname") or ("", 0)
    peer = writer.get_extra_info("peername") or (url.hostname, url.port)  # the kernel forgets one that is gone at once
    return f"read tcp {joined(*own[:2])}->{joined(*peer[:2])}: read: connection reset by peer"


@cache
def _unverified_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.options |= _LEGACY_SERVERS
    return context


def _location(fields: Mapping[str, str]) -> str:
    return fields.get("location", "").encode("latin-1").decode("utf-8", "surrogateescape")


async def _whole(
    body: ResponseBody,
    status: int,
    fields: Mapping[str, str],
    url: Url,
    writer: asyncio.StreamWriter,
    deadline: float | None,
) -> str:
    """Read the start of the body. Returns why it is not complete, or ''."""
    try:
        async with asyncio.timeout_at(deadline):
            await body.read(status, fields)
    except TimeoutError:
        return "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    except asyncio.IncompleteReadError:
        return "unexpected EOF"
    except BodyError as problem:
        return str(problem)
    except OSError as problem:
        return _read_text(problem, url, writer)
    return ""
