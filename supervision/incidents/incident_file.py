"""Writes incident records to a bounded file, one JSON line per fault.

A line is written when the fault happens. It ends with a blank field of fixed width, which is filled in place when the
replacement is in service. If a write fails, the record stays in memory, and in a spare file for the next agent, and is
written later. Under a guard each write waits for its answer, so that the fork server never waits for a disk that hangs.
A full file is renamed to `FILE.1`, which replaces the older one."""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..errors import error_reason
from ..hanging_disks import ANSWER_SECONDS, Hangs, in_time
from ..process_messages import Exited, Started
from .incident import Incident, UnwrittenIncidents, incident_of, older
from .spare_incidents import SpareIncidents

MAX_BYTES = 1024 * 1024
_BLANK = 12
_TAIL = b',"restart_seconds":'
_MOST_REMEMBERED = 1024
_MOST_UNWRITTEN = 1024


Guard = Callable[[Callable[[str], None]], None]
"""Calls back, perhaps later, with the reason why nothing may be written now, or ''."""


class _Open(msgspec.Struct, frozen=True):
    """A record with an empty blank field."""

    generation: int
    offset: int
    at: float


class _Unwritten(msgspec.Struct):
    """A record that is not written yet."""

    incident: Incident
    at: float
    restart_seconds: float | None = None
    by_earlier_agent: bool = False
    """No replacement is to come."""


class Incidents:
    """The fork server's file; implements `application.IncidentSink`. `unwritten` reports an error of the disk."""

    def __init__(
        self,
        path: Path,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        spare: Path | None = None,
    ) -> None:
        """`spare`: the file for records that cannot be written to `path`, on another file system."""
        self._spare = SpareIncidents(spare)
        self._recovered = False
        self.path, self._max_bytes, self._clock, self._wall = path, max_bytes, clock, wall
        self._error, self._failing_since = "", 0.0
        self._generation = 0
        self._recorded: dict[tuple[str, int], None] = {}
        self._open: dict[str, list[_Open]] = {}
        self._unwritten: deque[_Unwritten] = deque(maxlen=_MOST_UNWRITTEN)
        self._fills: list[tuple[_Open, float]] = []
        """The blanks to fill, with seconds."""
        self._guard: Guard | None = None
        self._waits_for_guard = False

    def guard(self, guard: Guard) -> None:
        self.flush()  # the spare file has only an earlier agent's records yet
        self._guard = guard

    def opened(self, exited: Exited) -> None:
        """Record it, once for an incarnation."""
        key = exited.name, exited.incarnation
        if key in self._recorded:
            return
        self._remember(key)
        incident = incident_of(exited, self._wall())
        self._unwritten.append(_Unwritten(incident, self._clock()))
        self.flush()
        if self._unwritten:
            self._spare.keep(incident)

    def closed(self, started: Started, seconds: float) -> None:
        """Fill the blanks of all the actor's open records: the earlier ones waited for this replacement too."""
        records = self._open.pop(started.name, [])
        unwritten = [
            e
            for e in self._unwritten
            if e.incident.actor == started.name and not e.by_earlier_agent and e.restart_seconds is None
        ]
        last = max([*(each.at for each in records), *(each.at for each in unwritten)], default=0.0)
        for each in unwritten:
            each.restart_seconds = seconds + (last - each.at)
        self._fills += [(record, seconds + (last - record.at)) for record in records]
        self.flush()
        if self._unwritten:
            for each in unwritten:
                self._spare.keep(replace(each.incident, restart_seconds=each.restart_seconds))

    def flush(self) -> None:
        """Write what waits, once the guard allows it."""
        if self._guard is None:
            self.write()
        elif (self._unwritten or self._fills) and not self._waits_for_guard:
            self._waits_for_guard = True
            self._guard(self._guard_answered)

    def _guard_answered(self, error: str) -> None:
        self._waits_for_guard = False
        if error:
            self._fail(error)
        else:
            self.write()

    def end(self) -> None:
        """Write what waits, unless the last write failed, and wait for no disk that hangs: the spare file has it."""
        if self._error or not (self._unwritten or self._fills):
            return
        with suppress(OSError, Hangs):
            in_time(self.write, type(None), ANSWER_SECONDS)

    def _fail(self, error: str) -> None:
        self._failing_since = self._failing_since if self._error else self._clock()
        self._error = error

    def write(self) -> None:
        """Write the records in memory, oldest first, until a write fails; before them those of an earlier agent. Then
        fill the blanks."""
        self._append_all()
        fills, self._fills = self._fills, []
        for record, seconds in fills:
            with suppress(OSError):  # the record stays without it
                self._fill(record, seconds)

    def _append_all(self) -> None:
        if not self._recovered:
            self._recovered = True
            kept = self._spare.kept(self.path)
            earlier = [_Unwritten(one, 0.0, one.restart_seconds, by_earlier_agent=True) for one in kept]
            self._unwritten.extendleft(reversed(earlier))
        had = bool(self._unwritten)
        while self._unwritten:
            first = self._unwritten[0]
            try:
                offset = self._append(_line(first.incident, first.restart_seconds))
            except OSError as error:
                self._fail(error_reason(error))
                return
            self._error = ""
            self._unwritten.popleft()
            if first.restart_seconds is None and not first.by_earlier_agent:
                self._open.setdefault(first.incident.actor, []).append(_Open(self._generation, offset, first.at))
        if had:
            self._spare.clear()

    def unwritten(self) -> UnwrittenIncidents:
        """The records in memory."""
        incidents = [replace(each.incident, restart_seconds=each.restart_seconds) for each in self._unwritten]
        return UnwrittenIncidents(incidents, self._error, self._failing_since)

    def _remember(self, key: tuple[str, int]) -> None:
        self._recorded[key] = None
        while len(self._recorded) > _MOST_REMEMBERED:
            self._recorded.pop(next(iter(self._recorded)))

    def _append(self, line: bytes) -> int:
        """Write the line; return the offset of its blank field."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if _size(self.path) + len(line) > self._max_bytes:
            self._rotate()
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            end = os.fstat(fd).st_size
            truncated = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
            data = b"\n" + line if truncated else line
            if os.pwrite(fd, data, end) < len(data):
                os.ftruncate(fd, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return end + len(data) - _BLANK - 2
        finally:
            os.close(fd)

    def _rotate(self) -> None:
        if self.path.exists():
            os.replace(self.path, older(self.path))
        self._generation += 1
        # the records of an actor that never returns are rotated away, so forget them too
        on_disk = {actor: [each for each in found if self._on_disk(each)] for actor, found in self._open.items()}
        self._open = {actor: found for actor, found in on_disk.items() if found}

    def _on_disk(self, record: _Open) -> bool:
        return self._generation - record.generation <= 1

    def _fill(self, record: _Open, seconds: float) -> None:
        if not self._on_disk(record):
            return
        fd = os.open(
            self.path if record.generation == self._generation else older(self.path),
            os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK,  # a FIFO in its place would be waited for
        )
        try:
            os.pwrite(fd, _seconds_field(seconds), record.offset)
        finally:
            os.close(fd)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _seconds_field(seconds: float | None) -> bytes:
    """The blank field, wide enough for any number of seconds."""
    return ("null" if seconds is None else f"{seconds:.6f}"[:_BLANK]).ljust(_BLANK).encode()


def _line(incident: Incident, restart_seconds: float | None) -> bytes:
    fields = {name: value for name, value in msgspec.structs.asdict(incident).items() if name != "restart_seconds"}
    body = msgspec.json.encode(fields).removesuffix(b"}")
    return body + _TAIL + _seconds_field(restart_seconds) + b"}\n"
