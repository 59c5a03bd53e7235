"""The directory device-plugins: sockets of plugins, kubelet.sock and the checkpoint."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.relay import is_socket
from supervision.errors import error_reason
from supervision.state_file import write_private

from .checkpoint import NAME

SOCKET: Final = "kubelet.sock"
DEPRECATION: Final = "DEPRECATION"
_NOTE: Final = "Plugins of devices may register in the directory plugins_registry instead of this one.\n"


def prepare(directory: str) -> list[str]:
    """Make the directory, and remove every socket in it, as the kubelet does when it starts: plugins see that their
    sockets are gone and register again. Returns what could not be removed, with the reason.

    Raises OSError when the directory cannot be made or read."""
    os.makedirs(directory, 0o750, exist_ok=True)
    left = []
    for entry in list(os.scandir(directory)):
        if entry.name != NAME and is_socket(entry.path):
            try:
                os.unlink(entry.path)
            except OSError as error:
                left.append(f"{entry.path}: {error.strerror}")
    try:
        # replaced, never opened: a plugin's container writes here, and may have put a link or a FIFO in its place
        write_private(f"{directory}/{DEPRECATION}", _NOTE.encode(), sync=False)
    except OSError as error:
        left.append(f"{directory}/{DEPRECATION}: {error_reason(error)}")
    return left
