"""Registration sockets of plugins."""

from __future__ import annotations

import os
import stat

Stamp = tuple[int, int]
"""Inode and ctime (ns): they differ for a socket that was made again."""


def look(directory: str) -> dict[str, Stamp]:
    """Stamp of each socket below the directory, by path, without hidden ones."""
    found: dict[str, Stamp] = {}
    for top, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = f"{top}/{name}"
            try:
                about = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISSOCK(about.st_mode) and not name.startswith("."):
                found[path] = (about.st_ino, about.st_ctime_ns)
    return found
