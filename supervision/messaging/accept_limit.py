"""Keeps asyncio servers cheap while the process has no free file descriptor.

On each wake-up asyncio (CPython 3.11 to 3.13) accepts up to `backlog` connections, and tries them all even if the first
fails. While one client waits, that is a hundred tracebacks a second and a busy processor. Accepting one connection per
wake-up reduces it to one log line a second, at no other cost.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final

ONE: Final = 1
"""The `backlog` argument for `create_server`."""


def listen_for(server: asyncio.Server, most: int) -> None:
    """Set the length of the kernel's accept queue."""
    for sock in server.sockets:
        with socket.socket(fileno=os.dup(sock.fileno())) as same:
            same.listen(most)
