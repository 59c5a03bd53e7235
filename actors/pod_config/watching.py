"""What inotify says of a directory of manifests, as what to do about it.

A file is read when its writer has closed it or when it is moved in, not while it is being written; an editor that moves
the old file away before it writes the new one does not delete the pod.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec
from inotify_simple import flags

from actors.shared.linux.inotify import LOST, Event, Watcher

from .file_source import is_ignored


class Changes(msgspec.Struct):
    """What a batch of events means."""

    look: set[str] = msgspec.field(default_factory=set)
    """Names to look at now; those that are gone are dropped."""
    created: set[str] = msgspec.field(default_factory=set)
    """New names: a link is whole when it appears, but a new file is still to be written and closed."""
    deleted: set[str] = msgspec.field(default_factory=set)
    """Of those to look at, the deleted ones: a file that is there again is another one."""
    doubtful: set[str] = msgspec.field(default_factory=set)
    """Names that were moved away: an editor may write them again in a moment."""
    relist: bool = False
    """The directory itself changed, or events were lost."""


def changes_of(events: Iterable[Event]) -> Changes:
    """Names that are never manifests are left out; `..data`, which a config map swaps, stands for all names."""
    batch = list(events)
    changes = Changes()
    arrived = {event.cookie: event.name for event in batch if event.mask & flags.MOVED_TO}
    for event in batch:
        if event.mask & LOST or event.name == "..data":
            changes.relist = True
        elif is_ignored(event.name) or not event.name:
            continue
        elif event.mask & flags.MOVED_FROM and is_ignored(arrived.get(event.cookie, ".")):
            changes.doubtful.add(event.name)
        elif event.mask & flags.CREATE:
            changes.created.add(event.name)
        else:
            changes.look.add(event.name)
            if event.mask & flags.DELETE:
                changes.deleted.add(event.name)
    changes.doubtful -= changes.look
    changes.created -= changes.look
    return changes


class DirectoryWatch:
    """An inotify descriptor on the directory that has the manifests, or on its nearest ancestor that exists."""

    def __init__(self) -> None:
        """Raises OSError when the kernel has no descriptor left."""
        self._inotify = Watcher()
        self._watch = -1
        self.directory = ""

    def fileno(self) -> int:
        return self._inotify.fileno()

    def follow(self, path: str) -> None:
        """Watch `path`, or the directory it is in, or would be in. Raises OSError."""
        directory = nearest_directory(path)
        if directory == self.directory:
            return
        watch = self._inotify.add(directory)
        if self._watch not in (-1, watch):
            self._inotify.forget(self._watch)
        self._watch, self.directory = watch, directory

    def lost(self) -> None:
        """The directory is gone or moved: `follow` watches again."""
        self.directory = ""

    def read(self) -> list[Event]:
        """The events of the present watch that are there."""
        return [event for event in self._inotify.read() if event.wd in (self._watch, -1)]

    def close(self) -> None:
        self._inotify.close()


def nearest_directory(path: str) -> str:
    """The path itself if it is a directory, else its nearest ancestor that is."""
    path = os.path.abspath(path)
    while not os.path.isdir(path) and path != "/":
        path = os.path.dirname(path)
    return path
