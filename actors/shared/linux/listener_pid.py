"""The process that listens on a Unix socket."""

from __future__ import annotations

import socket
import struct
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")
"""struct ucred: pid, uid, gid (unix(7))."""


def listener_pid(path: str, timeout: float) -> int:
    """The pid of the process that called listen(2) on the socket. The kernel accepts the connection also for a stopped
    process. Raises OSError: nobody listens there, or not within `timeout` seconds."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(peer)[0]
    return pid
