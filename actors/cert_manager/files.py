"""Files that hold keys: how they are written, and how it is seen that one has changed."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Put `data` at `path` whole or not at all, readable by the owner only. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def file_stamp(path: str) -> object:
    """Changes when the file does: inode, size, time. None when it is not there."""
    try:
        found = os.stat(path) if path else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)
