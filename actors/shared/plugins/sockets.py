"""Finds the registration sockets of plugins, and notices changes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable, Iterator

from actors.shared.linux.inotify import Watcher

Stamp = tuple[int, int]
"""Inode and ctime (ns): they differ for a socket that was made again."""


def look(directory: str) -> dict[str, Stamp]:
    """Stamp of each socket below the directory, by path, without hidden ones."""
    found: dict[str, Stamp] = {}
    for top, names in _walk(directory):
        for name in names:
            path = f"{top}/{name}"
            try:
                about = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISSOCK(about.st_mode) and not name.startswith("."):
                found[path] = (about.st_ino, about.st_ctime_ns)
    return found


def _walk(directory: str) -> Iterator[tuple[str, list[str]]]:
    """Each directory that is not hidden, with the names in it."""
    for top, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield top, names


class FolderWatch:
    """Calls `changed` when something below the directory changes; needs the event loop."""

    def __init__(self, directory: str, changed: Callable[[], None]) -> None:
        self._directory, self._changed = directory, changed
        self._inotify: Watcher | None = None

    def follow(self) -> bool:
        """Watch each present directory. Returns whether changes are noticed: the kernel may have no watch left, or the
        directory may be missing."""
        try:
            if self._inotify is None:
                self._inotify = Watcher()
                asyncio.get_running_loop().add_reader(self._inotify.fileno(), self._read)
            self._inotify.add(self._directory)
        except OSError:
            return False
        return self._inotify.add_all(top for top, _ in _walk(self._directory))

    def _read(self) -> None:
        if self._inotify is not None and self._inotify.read():
            self._changed()

    def close(self) -> None:
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                asyncio.get_running_loop().remove_reader(inotify.fileno())
            inotify.close()
