"""Servers of asyncio that go on while the process has no file descriptors left.

For each wake-up asyncio accepts up to `backlog` connections, and tries all of them though the first fails: a hundred
tracebacks a second in the log, and a busy processor, as long as one client waits (CPython 3.11 to 3.13). With one
connection a wake-up it is one line a second, at no other cost.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final

ONE: Final = 1
"""The `backlog` to make the server with."""


def listen_for(server: asyncio.Server, most: int) -> None:
    """Let so many connections wait to be accepted."""
    for sock in server.sockets:
        with socket.socket(fileno=os.dup(sock.fileno())) as same:
            same.listen(most)
