"""Watches files and directories by inotify(7), without waiting."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Final, Protocol

from inotify_simple import INotify, flags

IN_DIRECTORY: Final = (
    flags.CLOSE_WRITE | flags.CREATE | flags.MOVED_TO | flags.MOVED_FROM | flags.DELETE | flags.DELETE_SELF
    | flags.MOVE_SELF | flags.ONLYDIR
)  # fmt: skip
"""What shows that a file of a directory is another one: written and closed, moved, made or deleted."""
OPENED: Final = flags.OPEN | flags.DELETE_SELF
"""Somebody opens the file."""
LOST: Final = flags.DELETE_SELF | flags.MOVE_SELF | flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT
"""What is watched is gone or another one, or events were lost."""


class Event(Protocol):
    """As inotify_simple gives it."""

    wd: int
    mask: int
    cookie: int
    name: str


class Watcher:
    """One inotify descriptor; an event loop waits for it to be readable."""

    def __init__(self) -> None:
        """Raises OSError when the kernel has no descriptor left."""
        self._inotify = INotify(nonblocking=True)

    def fileno(self) -> int:
        return int(self._inotify.fileno())

    def add(self, path: str, mask: int = IN_DIRECTORY) -> int:
        """Watch this as well; the number of the watch, the same one if it is watched already. Raises OSError."""
        return int(self._inotify.add_watch(path, mask))

    def add_all(self, directories: Iterable[str]) -> None:
        """Watch those that are there."""
        for directory in directories:
            with contextlib.suppress(OSError, ValueError):
                self.add(directory)

    def forget(self, watch: int) -> None:
        """The kernel may have removed it already."""
        with contextlib.suppress(OSError):
            self._inotify.rm_watch(watch)

    def read(self) -> list[Event]:
        """The events that are there."""
        return list(self._inotify.read(timeout=0))

    def close(self) -> None:
        self._inotify.close()


def prepare() -> None:
    """Make a descriptor, as the library then looks for libc, once: it runs a program for that. For the fork server."""
    with contextlib.suppress(OSError):
        Watcher().close()
