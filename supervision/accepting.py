"""Servers of asyncio that bear a want of descriptors.

asyncio accepts as often as `backlog` for each wake-up, and goes on to the last when the first finds no descriptor: a
hundred tracebacks a second in the log, and a busy processor, for as long as one client waits (3.11 to 3.13). One
connection for each wake-up costs nothing else, and then it is one line a second.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final

ONE: Final = 1
"""The `backlog` to make the server with."""


def listen_for(server: asyncio.Server, most: int) -> None:
    """So many may wait to be accepted."""
    for sock in server.sockets:
        with socket.socket(fileno=os.dup(sock.fileno())) as same:
            same.listen(most)
