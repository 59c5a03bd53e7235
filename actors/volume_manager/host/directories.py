"""Directories of volumes on the agent's own file system, which needs no disposable process."""

from __future__ import annotations

import os
import stat
from typing import Final

from actors.shared.linux.directories import make_path

DIRECTORY_MODE: Final = 0o750
"""The mode of directories above a volume."""


def make_directory(path: str, mode: int, group: int | None) -> None:
    """Make a directory atomically: under another name, then renamed. Raises OSError."""
    if os.path.isdir(path):
        return
    above, name = os.path.split(path)
    make_path(above, DIRECTORY_MODE)
    temporary = f"{above}/.{name}.new"  # no volume has a name that begins with a dot
    os.makedirs(temporary, 0o700, exist_ok=True)
    if group is not None:
        os.chown(temporary, -1, group)
        mode |= stat.S_ISGID
    os.chmod(temporary, mode)
    os.rename(temporary, path)
