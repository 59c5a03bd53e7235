"""Whether the disks that every actor uses answer: asked before a silent child is killed.

While one of them hangs nobody is to blame, and a new process would wait as the old one does: the child keeps its
process, and goes on when the disk answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from .. import process_stat
from ..application import OwnDirectories
from ..hanging_disks import HANGS, REMEDY
from ..protocol import DISK, FORK_SERVER, Trouble
from .disk_check import DiskCheck, Guard, Run
from .loop import Loop, ScheduledCall

log = logging.getLogger(FORK_SERVER)
_AGAIN_SECONDS: Final = 2.0
"""A disk that hangs is asked again and again, until it answers."""
_WORK_SECONDS: Final = 1.0
"""Processor time of a child that does not wait for a disk."""


class _Held(NamedTuple):
    pid: int
    cpu_seconds: float


_NOT_HELD: Final = _Held(0, 0.0)


class OwnDisks:
    """One question at a time: who asks meanwhile gets its answer, too."""

    def __init__(self, loop: Loop, run: Run, directories: OwnDirectories) -> None:
        """`run`: of `Disposables`."""
        self._loop = loop
        lock = () if directories.lock is None else (str(directories.lock),)
        self._guards: dict[str, Guard] = {
            **{path: DiskCheck(run, path, writes=False) for path in directories.read},
            **{path: DiskCheck(run, f"{path}/any") for path in (*lock, *directories.written)},
        }
        self._askers: list[Callable[[str], None]] = []
        self._unanswered: set[str] = set()
        """The directories that are being asked."""
        self._hanging: dict[str, float] = {}
        """Since when each was seen to hang, CLOCK_MONOTONIC seconds."""
        self._held: dict[str, _Held] = {}
        self._answered_at = float("-inf")
        self._again: ScheduledCall | None = None

    def ask(self, answer: Callable[[str], None]) -> None:
        """`answer` gets the directory whose disk hangs, '' if all answer; at once if there is none to ask."""
        self._askers.append(answer)
        if len(self._askers) > 1:
            return
        self._unanswered = set(self._guards)
        for path, guard in self._guards.items():
            guard(lambda error, path=path: self._answered(path, error))  # type: ignore[misc]
        if not self._guards:
            self._tell()

    def hold(self, name: str, pid: int, directory: str) -> bool:
        """Whether that child, silent while the disk hangs, keeps its process: unless it works instead of waiting."""
        if self._held.get(name, _NOT_HELD).pid != pid:
            self._held[name] = _Held(pid, process_stat.cpu_seconds(pid))
            log.error("%s waits, and is not replaced: the disk of %s does not answer", name, directory)
        return process_stat.cpu_seconds(pid) - self._held[name].cpu_seconds < _WORK_SECONDS

    def is_recent(self, seconds: float) -> bool:
        """Whether a disk that hung has answered again within these seconds: who waited for it needs a moment."""
        return time.monotonic() - self._answered_at < seconds

    def troubles(self) -> Iterator[Trouble]:
        """The disks that hang, and the children that wait."""
        waiting = f"; no new process would help those that wait for it: {', '.join(sorted(self._held))}"
        for path, since in self._hanging.items():
            text = f"{path}: {HANGS}{waiting if self._held else ''}"
            yield Trouble(DISK, text, time.monotonic() - since, FORK_SERVER, REMEDY)

    def _answered(self, path: str, error: str) -> None:
        if error:
            self._hanging.setdefault(path, time.monotonic())
        elif self._hanging.pop(path, None) is not None:
            log.warning("the disk of %s answers again", path)
        self._unanswered.discard(path)
        if not self._unanswered:
            self._tell()

    def _tell(self) -> None:
        hanging = next(iter(self._hanging), "")
        if self._held and not hanging:
            self._held.clear()
            self._answered_at = time.monotonic()
        if self._again is not None:
            self._again.cancel()
        self._again = self._loop.call_later(_AGAIN_SECONDS, lambda: self.ask(lambda _: None)) if hanging else None
        askers, self._askers = self._askers, []
        for answer in askers:
            answer(hanging)
