"""The root directory of a process, which tells the host's programs from those of containers: a container can give its
processes any name and command line, but not the root directory of the host."""

from __future__ import annotations

import os
from typing import NamedTuple


class RootDirectory(NamedTuple):
    device: int
    inode: int


def root_of(process: str) -> RootDirectory | None:
    """`process`: its directory in proc(5). None: it has ended, or is a zombie."""
    try:
        about = os.stat(f"{process}/root")
    except OSError:
        return None
    return RootDirectory(about.st_dev, about.st_ino)
