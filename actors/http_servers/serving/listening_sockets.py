"""Listening sockets for a configured address. Standard library only: healthz_server stays small."""

from __future__ import annotations

import errno
import socket
from typing import Final

_KEEPALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 9),
)
"""Each connection inherits these options, which are Go's: a client that has vanished without an end, such as a machine
that lost its power, is noticed after some two minutes."""
_NO_FAMILY: Final = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}


def is_wildcard(address: str) -> bool:
    """Whether the address means all addresses of both families, as in the kubelet: 0.0.0.0 or :: in any notation.
    Pure."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return not any(socket.inet_pton(family, address))
        except OSError:
            continue
    return not address


def listening(address: str, port: int, backlog: int) -> list[socket.socket]:
    """Non-blocking sockets, one for each family; on a host without IPv6 only one for IPv4. Raises OSError."""
    if not is_wildcard(address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [_socket(family, address, port, backlog)]
    found = [_socket(socket.AF_INET, "0.0.0.0", port, backlog)]  # noqa: S104
    try:
        found.append(_socket(socket.AF_INET6, "::", port, backlog))
    except OSError as error:
        if error.errno not in _NO_FAMILY:
            found[0].close()
            raise
    return found


def _socket(family: socket.AddressFamily, address: str, port: int, backlog: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        for option in ((socket.SOL_SOCKET, socket.SO_REUSEADDR, 1), *_KEEPALIVE):
            sock.setsockopt(*option)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return sock
