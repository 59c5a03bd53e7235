"""TCP connections with Go's error texts: `dial tcp 10.0.0.7:80: connect: connection refused`."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from contextlib import suppress
from typing import Final

from actors.shared.kube.host_port import joined

from .lookups import LOOKUPS

READ_LIMIT_BYTES: Final = 64 << 10
"""The size of the reader's buffer."""


HTTP_FOR_HTTPS: Final = "http: server gave HTTP response to HTTPS client"


_OWN: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN})
"""What this process or host lacks. EAGAIN: a thread, or a local port."""


class DialError(Exception):
    """The connection failed; the text is Go's."""


class ShortDialError(DialError):
    """This process lacked descriptors, threads, ports or memory for it: it says nothing of the peer."""


async def dial(
    host: str, port: int, tls: ssl.SSLContext | None = None, whose: str = ""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of the host that accepts. `whose`: the pod for which a name is looked up. Raises
    DialError; the deadline is the caller's."""
    try:
        *others, last = await LOOKUPS.addresses(whose, host)
        for address in others:
            with suppress(OSError):
                return await _connect(address, port, tls, host)
        return await _connect(last, port, tls, host)
    except ssl.SSLError as problem:
        raise DialError(_tls_text(problem)) from problem
    except socket.gaierror as problem:
        short = problem.errno in (socket.EAI_MEMORY, socket.EAI_SYSTEM)
        raise (ShortDialError if short else DialError)(f"dial tcp: lookup {host}: no such host") from problem
    except (OSError, ValueError, OverflowError) as problem:  # the host is not a valid host name
        short = getattr(problem, "errno", None) in _OWN
        text = f"dial tcp {joined(host, port)}: {_text(problem)}"
        raise (ShortDialError if short else DialError)(text) from problem


async def _connect(
    address: str, port: int, tls: ssl.SSLContext | None, host: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    name = host if tls is not None else None
    return await asyncio.open_connection(address, port, ssl=tls, server_hostname=name, limit=READ_LIMIT_BYTES)


def _text(problem: Exception) -> str:
    """asyncio's own texts lack the cause."""
    number = getattr(problem, "errno", None)
    if isinstance(problem, OSError) and number and number > 0:
        return f"connect: {os.strerror(number).lower()}"
    return str(problem) or type(problem).__name__


def _tls_text(problem: ssl.SSLError) -> str:
    if problem.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return HTTP_FOR_HTTPS
    return f"remote error: tls: {(problem.reason or str(problem)).lower().replace('_', ' ')}"
