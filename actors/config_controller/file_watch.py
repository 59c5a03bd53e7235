"""Watches the files of the configuration, and the lock file of the agent, with inotify."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from actors.shared.linux.inotify import OPENED, Watcher
from supervision.actor import Actor, Timer

SETTLE_SECONDS: Final = 0.3
"""The files are read this long after the last event, when an editor or a copy has finished."""


class ConfigFileWatch:
    """Calls `changed` once after each burst of events in the watched directories."""

    def __init__(self, actor: Actor, changed: Callable[[], None]) -> None:
        """Raises OSError if no inotify descriptor is free."""
        self._actor, self._changed = actor, changed
        self._watcher = Watcher()
        self._timer: Timer | None = None
        asyncio.get_running_loop().add_reader(self._watcher.fileno(), self._on_events)

    @property
    def settling(self) -> bool:
        """Whether there were events that `changed` has not been called for."""
        return self._timer is not None

    def watch(self, directories: Iterable[str]) -> None:
        """Watch these directories too, as far as they exist."""
        self._watcher.add_all(directories)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watcher.fileno())
        self._watcher.close()

    def _on_events(self) -> None:
        if self._watcher.read():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._actor.after(SETTLE_SECONDS, self._report_change)

    def _report_change(self) -> None:
        self._timer = None
        self._changed()


class LockFileWatch:
    """Calls `contended` when another process opens the lock file (--exit-on-lock-contention)."""

    def __init__(self, lock_file: str, contended: Callable[[], None]) -> None:
        """Raises OSError if no inotify descriptor is free or there is no such file."""
        self._contended = contended
        self._watcher = Watcher()
        self._watcher.add(lock_file, OPENED)
        asyncio.get_running_loop().add_reader(self._watcher.fileno(), self._on_events)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watcher.fileno())
        self._watcher.close()

    def _on_events(self) -> None:
        if self._watcher.read():
            self._contended()
