"""Watches files and directories with inotify(7), without blocking."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable
from typing import Final, Protocol

from inotify_simple import INotify, flags

IN_DIRECTORY: Final = (
    flags.CLOSE_WRITE | flags.CREATE | flags.MOVED_TO | flags.MOVED_FROM | flags.DELETE | flags.DELETE_SELF
    | flags.MOVE_SELF | flags.ONLYDIR
)  # fmt: skip
"""The events of a changed file in a directory: written and closed, moved, created or deleted."""
OPENED: Final = flags.OPEN | flags.DELETE_SELF
"""A process opens the file."""
LOST: Final = flags.DELETE_SELF | flags.MOVE_SELF | flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT
"""The watched file was removed or replaced, or events were lost."""

NONE_LEFT: Final = (errno.ENOSPC, errno.ENOMEM)
"""Errors for an existing path that cannot be watched: fs.inotify.max_user_watches is reached, or the kernel has no
memory."""


class InotifyEvent(Protocol):
    """An event of inotify_simple."""

    wd: int
    mask: int
    cookie: int
    name: str


class Watcher:
    """An inotify descriptor, for an event loop."""

    def __init__(self) -> None:
        """Raises OSError if no descriptor is free."""
        self._inotify = INotify(nonblocking=True)

    def fileno(self) -> int:
        return int(self._inotify.fileno())

    def add(self, path: str, mask: int = IN_DIRECTORY) -> int:
        """Add a watch; return its number, which is the same if the path is already watched. Raises OSError."""
        return int(self._inotify.add_watch(path, mask))

    def add_all(self, directories: Iterable[str]) -> bool:
        """Watch the existing paths. Returns whether all of them are watched: the kernel may have no watch left."""
        watched = True
        for directory in directories:
            try:
                self.add(directory)
            except ValueError:
                continue
            except OSError as error:
                watched = watched and error.errno not in NONE_LEFT
        return watched

    def forget(self, watch: int) -> None:
        """Remove a watch, unless the kernel already has."""
        with contextlib.suppress(OSError):
            self._inotify.rm_watch(watch)

    def read(self) -> list[InotifyEvent]:
        """The pending events."""
        return list(self._inotify.read(timeout=0))

    def close(self) -> None:
        self._inotify.close()


def prepare() -> None:
    """For the fork server: create a descriptor once, because the library then runs a program to find libc."""
    with contextlib.suppress(OSError):
        Watcher().close()
