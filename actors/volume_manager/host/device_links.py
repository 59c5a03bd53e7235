"""Links of devices in a pod's directory, on the agent's own file system."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.linux.directories import make_path
from actors.shared.linux.symlinks import replace_link

from .directories import DIRECTORY_MODE

_NEW: Final = ".new"
"""The temporary name of a link. No volume's name begins with a dot, and a volume's name may have the maximum length."""


def link_device(path: str, device: str) -> None:
    """Make the link at `path` to `device`, replacing one to another device. Raises OSError."""
    if os.path.islink(path) and os.readlink(path) == device:
        return
    make_path(os.path.dirname(path), DIRECTORY_MODE)
    replace_link(path, device, _NEW)
