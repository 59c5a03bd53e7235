"""Links of devices in a pod's directory, on the agent's own file system."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.linux.directories import make_path
from actors.shared.linux.links import replace_link

from .directories import DIRECTORY_MODE

_NEW: Final = ".new"
"""No volume has a name that begins with a dot. The volume's own name may have the maximum length."""


def link_device(path: str, device: str) -> None:
    """Make the link at `path` to `device`, in place of one to another device. Raises OSError."""
    if os.path.islink(path) and os.readlink(path) == device:
        return
    make_path(os.path.dirname(path), DIRECTORY_MODE)
    replace_link(path, device, _NEW)
