"""Watches the files of the configuration, and the lock file of the agent, with inotify."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from actors.shared.linux.inotify import OPENED, Watcher
from supervision.actor import Actor, Timer

SETTLE_SECONDS: Final = 0.3
"""The files are read this long after the last event, when an editor or a copy has finished."""
POLL_SECONDS: Final = 60.0
"""How often the controller reads the files without an event: some file systems give none."""
UNWATCHED_POLL_SECONDS: Final = 10.0
"""The same period, if the kernel has no watch left."""


class ConfigFileWatch:
    """Calls `changed` once after each burst of events in the watched directories."""

    def __init__(self, actor: Actor, changed: Callable[[], None]) -> None:
        self._actor, self._changed = actor, changed
        self._watcher: Watcher | None = None
        self._timer: Timer | None = None

    def watch(self, directories: Iterable[str]) -> bool:
        """Watch these directories too, as far as they exist. Whether changes are seen: the user may have no inotify
        instance or watch left."""
        if self._watcher is None:
            self._watcher = _watcher(self._on_events)
        return self._watcher is not None and self._watcher.add_all(directories)

    def close(self) -> None:
        _close(self._watcher)

    def _on_events(self) -> None:
        if self._watcher is not None and self._watcher.read():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._actor.after(SETTLE_SECONDS, self._report_change)

    def _report_change(self) -> None:
        self._timer = None
        self._changed()


class LockFileWatch:
    """Calls `on_lock_held` when another process opens the lock file (--exit-on-lock-contention)."""

    def __init__(self, lock_file: str, on_lock_held: Callable[[], None]) -> None:
        self._lock_file, self._on_lock_held = lock_file, on_lock_held
        self._watcher: Watcher | None = None

    def watch(self) -> bool:
        """Whether openings of the file are noticed; if not, call again. There is no other notice."""
        if self._watcher is None:
            watcher = _watcher(self._on_events)
            if watcher is not None and not _adds(watcher, self._lock_file):
                _close(watcher)
                watcher = None
            self._watcher = watcher
        return self._watcher is not None

    def close(self) -> None:
        _close(self._watcher)

    def _on_events(self) -> None:
        if self._watcher is not None and self._watcher.read():
            self._on_lock_held()


class SourceWatches:
    """The watches of the configuration's files and of the lock file, as far as the kernel allows: each change of that
    is logged once."""

    def __init__(self, actor: Actor, files: ConfigFileWatch, lock_file: LockFileWatch | None) -> None:
        self._actor, self.files, self._lock_file = actor, files, lock_file
        self._watched = True

    @property
    def poll_seconds(self) -> float:
        """Seconds until the files are read without an event."""
        return POLL_SECONDS if self._watched else UNWATCHED_POLL_SECONDS

    def watch(self, directories: Iterable[str]) -> None:
        """Watch these directories too, and the lock file."""
        watched = self.files.watch(directories)
        if self._lock_file is not None:
            watched = self._lock_file.watch() and watched
        if watched == self._watched:
            return
        self._watched = watched
        if watched:
            self._actor.log.info("the files of the configuration are watched again")
        else:
            self._actor.log.warning(
                "the files of the configuration cannot be watched, and are read each %.0f s: no inotify instance or "
                "watch is left (fs.inotify.max_user_instances, fs.inotify.max_user_watches)",
                UNWATCHED_POLL_SECONDS,
            )

    def close(self) -> None:
        self.files.close()
        if self._lock_file is not None:
            self._lock_file.close()


def _watcher(on_events: Callable[[], None]) -> Watcher | None:
    """None while the user has no inotify instance left (fs.inotify.max_user_instances)."""
    try:
        watcher = Watcher()
    except OSError:
        return None
    asyncio.get_running_loop().add_reader(watcher.fileno(), on_events)
    return watcher


def _adds(watcher: Watcher, lock_file: str) -> bool:
    try:
        watcher.add(lock_file, OPENED)
    except OSError:
        return False
    return True


def _close(watcher: Watcher | None) -> None:
    if watcher is not None:
        asyncio.get_running_loop().remove_reader(watcher.fileno())
        watcher.close()
