"""When to read the configuration again: inotify on the directories that hold it.

Directories are watched rather than files, as editors and ConfigMap mounts replace files by rename.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from inotify_simple import INotify, flags

_MASK = (
    flags.CLOSE_WRITE | flags.MOVED_TO | flags.MOVED_FROM | flags.CREATE | flags.DELETE | flags.DELETE_SELF
    | flags.MOVE_SELF | flags.ONLYDIR
)  # fmt: skip


MAX_LINKS = 40
"""As the kernel has it."""


class Watcher:
    """An inotify descriptor on some directories; those that are missing are tried again by `watch`."""

    def __init__(self) -> None:
        self._inotify = INotify(nonblocking=True)
        self.missing: list[str] = []

    def fileno(self) -> int:
        return int(self._inotify.fileno())

    def watch(self, directories: Iterable[str]) -> None:
        """Watch these as well; one that is watched already stays so."""
        self.missing = []
        for directory in directories:
            try:
                self._inotify.add_watch(directory, _MASK)
            except (OSError, ValueError):
                self.missing.append(directory)

    def drain(self) -> bool:
        """Take all events that are there; whether there were any."""
        return bool(self._inotify.read(timeout=0))

    def close(self) -> None:
        self._inotify.close()


class LockWatcher:
    """An inotify descriptor on the lock file: another agent that opens it wants this one to make way."""

    def __init__(self, path: str) -> None:
        """Raises OSError when the file is not there."""
        self._inotify = INotify(nonblocking=True)
        self._inotify.add_watch(path, flags.OPEN | flags.DELETE_SELF)

    def fileno(self) -> int:
        return int(self._inotify.fileno())

    def drain(self) -> bool:
        """Take all events that are there; whether there were any."""
        return bool(self._inotify.read(timeout=0))

    def close(self) -> None:
        self._inotify.close()


def _way_to(path: str) -> list[str]:
    """The directories in which a symbolic link stands on the way to a file, and at last its own.

    A ConfigMap's mount is swapped by one rename of such a link.
    """
    found: list[str] = []
    at, rest, links = "/", path.split("/"), 0
    while rest:
        part = rest.pop(0)
        if part in ("", "."):
            continue
        here = os.path.join(at, part) if part != ".." else os.path.dirname(at)
        if links < MAX_LINKS and os.path.islink(here):
            found.append(at)
            links += 1
            target = os.readlink(here)
            at, rest = "/" if target.startswith("/") else at, [*target.split("/"), *rest]
        else:
            at = here
    return [*found, os.path.dirname(path), os.path.dirname(at)]


def directories_of(files: Iterable[str], trees: Iterable[str]) -> list[str]:
    """The directories of the files and of the links on the way to them, and the trees with all that is in them."""
    found = {directory for path in files if path for directory in _way_to(path)}
    for tree in filter(None, trees):
        found |= {tree, *_way_to(tree)[:-1]}
        found.update(str(path) for path in Path(tree).rglob("*") if path.is_dir() and not path.is_symlink())
    return sorted(found)
