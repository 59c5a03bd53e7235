"""The stamp of a file, by which a change of it is noticed."""

from __future__ import annotations

import os


def file_stamp(path: str) -> object:
    """Changes when the file does: inode, size, time. None when it is not there."""
    try:
        found = os.stat(path) if path else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)
