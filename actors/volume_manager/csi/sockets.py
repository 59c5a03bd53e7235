"""Which plugins have put a socket in the registry directory."""

from __future__ import annotations

import os
import stat

Stamp = tuple[int, int]
"""Inode, and when it was made (ns): another for a socket that was made again."""


def look(directory: str) -> dict[str, Stamp]:
    """Stamp by path of each socket below the directory; names that begin with a dot are passed over."""
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
