"""Whether a program listens on the socket of a container runtime."""

from __future__ import annotations

import errno
import os
import socket

from actors.shared.config.endpoints import SCHEME, socket_of


def unreached(endpoint: str) -> str:
    """Why the socket takes no connection; '' if it does, or is no Unix socket. Never waits."""
    if not endpoint.startswith(SCHEME):
        return ""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
        number = sock.connect_ex(socket_of(endpoint))
    if number in {0, errno.EAGAIN}:  # EAGAIN: a program listens, and takes its connections slowly
        return ""
    return f"{endpoint} cannot be reached: {os.strerror(number)}"
