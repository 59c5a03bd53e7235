"""Whether the container runtime's socket answers, with a hint when it does not."""

from __future__ import annotations

import errno
import os
import socket
import stat
from typing import Final, NamedTuple

from actors.shared.config.endpoints import socket_of

_HINT: Final = (
    "start it, name the socket of another with --container-runtime-endpoint, or let the agent run its own with "
    "--container-runtime-endpoint=managed"
)


class Absence(NamedTuple):
    """Why a runtime cannot be used now, and what mends it."""

    cause: str
    remedy: str = _HINT
    denied: bool = False
    """Another user may use it."""

    def __str__(self) -> str:
        return f"{self.cause}: {self.remedy}"


def absence(endpoint: str) -> Absence | None:
    """Why the runtime at `unix:///path` cannot be used now; None if it can.

    Only a warning at start, because a runtime may be started after the agent.
    """
    path = socket_of(endpoint)
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return Absence(f"{path} is not a socket")
    except OSError as error:
        reason = "there is no container runtime" if error.errno == errno.ENOENT else f"{error.strerror}"
        return Absence(f"{path}: {reason}", denied=error.errno == errno.EACCES)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
        number = sock.connect_ex(path)
    if number in {0, errno.EAGAIN}:
        return None
    if number == errno.EACCES:
        return Absence(f"{path}: not permitted for uid {os.geteuid()}", "run the agent as root", denied=True)
    return Absence(f"{path}: nothing answers there ({os.strerror(number)})")
