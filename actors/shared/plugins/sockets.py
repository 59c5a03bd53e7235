"""Finds the registration sockets of plugins, and notices changes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from actors.shared.linux.inotify import Watcher

MOST_DIRECTORIES: Final = 1000
MOST_ENTRIES: Final = 100_000
"""Plugins write here: a flood must neither hold up the actor nor use up root's inotify watches."""
Stamp = tuple[int, int]
"""Inode and ctime (ns): they differ for a socket that was made again."""


def look(
    directory: str, left_out: Callable[[], None] = lambda: None, unseen: Callable[[str], None] = lambda _: None
) -> dict[str, Stamp]:
    """Stamp of each socket below the directory, by path, without hidden ones. `left_out` is called if the
    directory has more entries than are read, `unseen` with each existing path that cannot be read, as without a free
    descriptor: there may still be a socket at it or below it."""
    found: dict[str, Stamp] = {}
    for _, paths in _walk(directory, left_out, unseen):
        for path in paths:
            try:
                made = stamp_of(path)
            except OSError:
                unseen(path)
            else:
                if made is not None:
                    found[path] = made
    return found


def stamp_of(path: str) -> Stamp | None:
    """None: no socket is at the path. Raises OSError if that cannot be seen."""
    try:
        about = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (about.st_ino, about.st_ctime_ns) if stat.S_ISSOCK(about.st_mode) else None


def _walk(
    directory: str, left_out: Callable[[], None] = lambda: None, unseen: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, list[str]]]:
    """Each directory that is not hidden, those near the top first, with the paths in it that may be sockets."""
    waiting, directories, entries = deque([directory]), 1, 0
    while waiting:
        top, may_be = waiting.popleft(), []
        try:
            for entry in _entries(top):
                entries += 1
                if entries > MOST_ENTRIES:
                    left_out()
                    waiting.clear()
                    break
                if entry.name.startswith(".") or entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    may_be.append(entry.path)
                elif directories < MOST_DIRECTORIES:
                    directories += 1
                    waiting.append(entry.path)
                else:
                    left_out()
        except OSError:
            unseen(top)
        yield top, may_be


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    """None if it is not there. Raises OSError."""
    try:
        found = os.scandir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    with found:
        yield from found


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
