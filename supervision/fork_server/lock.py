"""A lock that allows one agent for a run directory. The kernel releases it when its holder ends, in whatever way.

It is on the directory, so that it holds while somebody removes the file, and on the file `lock`, which names the
holder."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..hanging_disks import ANSWER_SECONDS, Ask, Hangs, in_time, require_answer
from ..process_stat import is_alive
from ..protocol import FORK_SERVER
from ..time_scale import scaled

log = logging.getLogger(FORK_SERVER)
JANITOR: Final = "janitor"
"""How the kernel names the janitor's process."""
_PATIENCE_SECONDS = 3.0


class AlreadyRunning(Exception):
    """Another agent holds the directory."""


def holder_of(directory: Path, ask: Ask = require_answer) -> int:
    """The pid of the agent that holds the directory's lock; 0 if it is free, or its holder is gone. Raises OSError,
    also if its disk hangs."""
    ask(directory)
    try:
        fd = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _pid_in(directory / "lock")
        return holder if is_alive(holder) else 0
    finally:
        os.close(fd)
    return 0


class Lock:
    """The held lock. Releasing it removes the file. Neither waits for a disk that hangs."""

    def __init__(self, directory: Path, *, makes: bool = False, ask: Ask = require_answer) -> None:
        """`makes`: the directory, with mode 0700, if it is missing. Raises AlreadyRunning, naming the pid that holds
        it; OSError, also if the disk hangs."""
        self.path = directory / "lock"
        ask(self.path, writes=True)
        if makes:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        started_at, janitor, tries = time.monotonic(), 0, 0
        while not self._try():
            holder, tries = _pid_in(self.path), tries + 1
            # `holder_of` has the lock for a moment, and after a reboot another process may have the PID in the file: so
            # one failed try proves nothing
            if tries > 1 and is_alive(holder):
                raise AlreadyRunning(f"an agent with pid {holder} already runs on {directory}")
            # the janitor of a killed fork server holds the lock for a moment, or for ever if it was stopped
            waited = time.monotonic() - started_at
            if waited > scaled(2 * _PATIENCE_SECONDS):
                raise AlreadyRunning(f"something that the agent with pid {holder} has left still holds {self.path}")
            if waited > scaled(_PATIENCE_SECONDS) and not janitor:
                janitor = _pid_in(self.path, line=1)
                _end_janitor(janitor)
            time.sleep(0.02)

    def _try(self) -> bool:
        held: list[int] = []
        try:
            # file systems of the network may lock no directory: there the file alone is the lock
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.append(directory)
            if _locks(directory, if_it_can=True) and _locks(fd := _opened(self.path, held)) and self._is_current(fd):
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
                self.fd, self.fds, held = fd, (fd, directory), []
                return True
        finally:
            for each in held:  # its holder still holds it, or has just removed the file
                os.close(each)
        return False

    def restore(self, janitor: int) -> None:
        """Make the file again if somebody removed it. Raises OSError."""
        if self._is_current(self.fd):
            return
        held: list[int] = []
        try:
            if _locks(fd := _opened(self.path, held)):
                os.dup2(fd, self.fd, inheritable=False)
                self.name_janitor(janitor)
                log.warning("somebody removed %s: it is made again", self.path)
        finally:
            for each in held:
                os.close(each)

    def name_janitor(self, pid: int) -> None:
        """Write the pid of the janitor, which shares the lock, into the file. The next agent kills it if it has not
        ended."""
        with suppress(OSError):  # a full disk must not stop the agent, and the janitor usually ends by itself
            os.pwrite(self.fd, f"{os.getpid()}\n{pid:10}\n".encode(), 0)

    def _is_current(self, fd: int) -> bool:
        try:
            return os.fstat(fd).st_ino == os.stat(self.path).st_ino
        except FileNotFoundError:
            return False

    def rename_janitor(self, pid: int) -> None:
        """Write the pid of the next janitor, as `name_janitor` does, while the agent runs: its disk may hang by now."""
        with suppress(OSError, Hangs):
            in_time(lambda: self.name_janitor(pid), type(None), ANSWER_SECONDS)

    def release(self) -> None:
        """Remove the file and let the lock go. A file that stays, as on a disk that is read-only or hangs, locks
        nothing once its descriptor is closed. Who still waits for that disk, to remove it, holds the lock until
        then."""
        with suppress(OSError, Hangs):
            in_time(self._remove, type(None), ANSWER_SECONDS)
        for fd in self.fds:
            os.close(fd)

    def _remove(self) -> None:
        if self._is_current(self.fd):  # after the directory was removed, the file may belong to another agent
            self.path.unlink(missing_ok=True)


def _opened(path: Path, into: list[int]) -> int:
    into.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    return into[-1]


def _locks(fd: int, *, if_it_can: bool = False) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        if not if_it_can:
            raise
    return True


def _pid_in(path: Path, line: int = 0) -> int:
    """The pid in that line of the file; 0 if there is none."""
    try:
        return int(path.read_text().splitlines()[line])
    except (OSError, ValueError, IndexError):
        return 0


def _end_janitor(pid: int) -> None:
    """Kill the process if it is still a janitor. The next owner of the lock does its work."""
    try:
        if pid and Path(f"/proc/{pid}/comm").read_text().strip() == JANITOR:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass  # it has ended
