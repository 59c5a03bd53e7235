"""The run directory of one agent: its lock, the directory of its sockets, and the janitor that removes both."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..hanging_disks import Ask, require_answer
from ..messaging.names import Names
from ..protocol import FORK_SERVER
from .disk_check import Guard
from .janitor import Janitor
from .lock import AlreadyRunning, Lock
from .loop import Loop

log = logging.getLogger(FORK_SERVER)
_RETRY_SECONDS = 0.5
_WATCH_SECONDS = 1.0
_LOCK_SECONDS: Final = 30.0
_LONGEST_PAUSE: Final = 960.0


class RunDirectory:
    """Held by one fork server at a time."""

    def __init__(self, path: Path, lock_dir: Path | None = None, ask: Ask = require_answer) -> None:
        """Takes the locks, then removes the files of an earlier agent. Raises AlreadyRunning, PeerRefused, OSError.

        `lock_dir`: holds a second lock, which outlives a removal of `path`. Both are created with mode 0700 if
        missing.
        """
        self._locks: list[Lock] = []
        try:
            # the locks come first: the janitor of a killed agent holds them while it removes files
            for directory in dict.fromkeys((lock_dir or path, path)):
                self._locks.append(Lock(directory, makes=True, ask=ask))
        except (AlreadyRunning, OSError):
            self._release()
            raise
        os.chmod(path, 0o700)
        self.names = Names(path / "names")
        self.names.clear()
        try:
            self.names.check()
        except OSError:
            self._release()
            raise
        self._janitor: Janitor | None = None
        self._changed_at = 0
        """The modification time of the socket directory at the last check."""
        self._check_again = False

    def start_janitor(self, when_killed: Sequence[str] = ()) -> None:
        """Start the janitor: from now on the files are removed however the fork server ends. `when_killed`: the program
        that it runs before that. Raises OSError."""
        paths = [self.names.path, *(lock.path for lock in self._locks)]
        self._janitor = Janitor(paths, [fd for lock in self._locks for fd in lock.fds], when_killed)
        for lock in self._locks:
            lock.name_janitor(self._janitor.pid)

    def reaped(self, pid: int, loop: Loop) -> bool:
        """Returns whether that process was the janitor; if so, a new one starts."""
        if self._janitor is None or pid != self._janitor.pid:
            return False
        log.error("the janitor was killed: another takes its place")
        self._janitor.ended()
        self._restart(self._janitor, loop)
        return True

    def _restart(self, janitor: Janitor, loop: Loop) -> None:
        try:
            janitor.start()
            for lock in self._locks:
                lock.rename_janitor(janitor.pid)
        except OSError as error:
            log.error("no janitor: %s", error)
            loop.call_later(_RETRY_SECONDS, lambda: self._restart(janitor, loop))

    def watch(self, loop: Loop, removed: Callable[[], None], changed: Callable[[], bool]) -> None:
        """Call `removed` once when the directory of the sockets is removed: then actors cannot be found by name. Call
        `changed` when something in it was made or removed, and again until it returns True. The file of its lock is
        made again."""
        if not self.names.is_there():
            removed()
            return
        self._restore(self._locks[-1:])
        changed_at = self.names.changed_at()
        if changed_at != self._changed_at or self._check_again:
            # one more check sees a change during this check, or in the same tick of the file system's clock
            is_new, self._changed_at = changed_at != self._changed_at, changed_at
            self._check_again = not changed() or is_new
        loop.call_later(_WATCH_SECONDS, lambda: self.watch(loop, removed, changed))

    def watch_other_lock(self, loop: Loop, guard_of: Callable[[Path], Guard], pause: float = _LOCK_SECONDS) -> None:
        """Make the file of the second lock again, too, once its disk has answered the guard: the fork server waits for
        no disk that hangs, and asks it ever more rarely, as each answer that does not come may cost a process."""

        def answered(error: str) -> None:
            if not error:
                self._restore(self._locks[:-1])
            self.watch_other_lock(loop, guard_of, min(2 * pause, _LONGEST_PAUSE) if error else _LOCK_SECONDS)

        if len(self._locks) > 1:
            guard = guard_of(self._locks[0].path)
            loop.call_later(pause, lambda: guard(answered))

    def _restore(self, locks: Sequence[Lock]) -> None:
        for lock in locks:
            with suppress(OSError):  # a full disk, or a removed directory: the other lock holds
                lock.restore(self._janitor.pid if self._janitor is not None else 0)

    def fds(self) -> list[int]:
        """The descriptors that every child closes."""
        return [
            *(fd for lock in self._locks for fd in lock.fds),
            *([self._janitor.fd] if self._janitor is not None else []),
        ]

    def remove(self) -> None:
        """Remove the sockets, end the janitor, release the locks."""
        if self._janitor is not None:
            self._janitor.stop()
        self.names.remove()
        self._release()

    def _release(self) -> None:
        for lock in self._locks:
            lock.release()
