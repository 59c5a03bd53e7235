"""Whether the container runtime's socket answers, with a hint when it does not."""

from __future__ import annotations

import errno
import os
import socket
import stat

from actors.shared.config.endpoints import socket_of

_HINT = (
    "start it, name the socket of another with --container-runtime-endpoint, or let the agent run its own with "
    "--container-runtime-endpoint=managed"
)


def warning(endpoint: str) -> str:
    """The reason why the runtime at `unix:///path` cannot be used now, '' if it can.

    Only a warning at start, because a runtime may be started after the agent.
    """
    path = socket_of(endpoint)
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return f"{path} is not a socket: {_HINT}"
    except OSError as error:
        reason = "there is no container runtime" if error.errno == errno.ENOENT else f"{error.strerror}"
        return f"{path}: {reason}: {_HINT}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
        number = sock.connect_ex(path)
    if number in {0, errno.EAGAIN}:
        return ""
    if number == errno.EACCES:
        return f"{path}: not permitted for uid {os.geteuid()}: run the agent as root"
    return f"{path}: nothing answers there ({os.strerror(number)}): {_HINT}"
