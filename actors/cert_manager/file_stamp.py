"""The stamp of a file: another one after each change of the file."""

from __future__ import annotations

import os


def file_stamp(path: str) -> object:
    """Inode, size and time of the file, which change when it does. None when it is missing."""
    try:
        status = os.stat(path) if path else None
    except OSError:
        return None
    return status and (status.st_ino, status.st_size, status.st_mtime_ns)
