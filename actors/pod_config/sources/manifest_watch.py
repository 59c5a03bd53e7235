"""Turns the inotify events of a manifest directory into the files to read and to drop.

A file is read when its writer has closed it or when it is moved in. An editor that moves the old file away before it
writes the new one does not delete the pod.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from inotify_simple import flags

from actors.shared.linux.directories import nearest_directory
from actors.shared.linux.inotify import LOST, InotifyEvent, Watcher

from .file_source import is_ignored


class Changes(msgspec.Struct):
    """The meaning of a batch of events."""

    look: set[str] = msgspec.field(default_factory=set)
    """Files to look at now; missing ones are dropped."""
    created: set[str] = msgspec.field(default_factory=set)
    """New files and links: a link is complete at once, a file only when its writer closes it."""
    deleted: set[str] = msgspec.field(default_factory=set)
    """The files in `look` that were deleted: if one exists again, it is a new file."""
    moved_out: set[str] = msgspec.field(default_factory=set)
    """Files that were moved away: an editor may write them again in a moment."""
    relist: bool = False
    """The directory itself changed, or events were lost."""


def changes_of(events: Iterable[InotifyEvent]) -> Changes:
    """Ignores files that are never manifests. A change of `..data` (a ConfigMap mount) means a scan."""
    batch = list(events)
    changes = Changes()
    arrived = {event.cookie: event.name for event in batch if event.mask & flags.MOVED_TO}
    for event in batch:
        if event.mask & LOST or event.name == "..data":
            changes.relist = True
        elif is_ignored(event.name) or not event.name:
            continue
        elif event.mask & flags.MOVED_FROM and is_ignored(arrived.get(event.cookie, ".")):
            changes.moved_out.add(event.name)
        elif event.mask & flags.CREATE:
            changes.created.add(event.name)
        else:
            changes.look.add(event.name)
            if event.mask & flags.DELETE:
                changes.deleted.add(event.name)
    changes.moved_out -= changes.look
    changes.created -= changes.look
    return changes


class DirectoryWatch:
    """An inotify watch of the manifest directory, or of its nearest existing ancestor."""

    def __init__(self) -> None:
        """Raises OSError when the kernel has no descriptor left."""
        self._inotify = Watcher()
        self._watch = -1
        self.directory = ""

    def fileno(self) -> int:
        return self._inotify.fileno()

    def follow(self, path: str) -> None:
        """Watch `path` or its nearest existing directory. Raises OSError."""
        directory = nearest_directory(path)
        if directory == self.directory:
            return
        watch = self._inotify.add(directory)
        if self._watch not in (-1, watch):
            self._inotify.forget(self._watch)
        self._watch, self.directory = watch, directory

    def lost(self) -> None:
        """The directory is gone or moved; the next `follow` adds a new watch."""
        self.directory = ""

    def read(self) -> list[InotifyEvent]:
        """The pending events of the current watch."""
        return [event for event in self._inotify.read() if event.wd in (self._watch, -1)]

    def close(self) -> None:
        self._inotify.close()
