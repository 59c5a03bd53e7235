"""Records on which input an actor died, and which input is in quarantine.

Before an actor runs code that an input might crash, it records the input's key (a pod's UID, a file's hash), and it
clears the record afterwards. A key that is still recorded when the next incarnation starts is what the last one died
on. After `crashes` deaths on the same key within `window_seconds` the key is in quarantine: the input is at fault, and
the others continue.

    journal = Journal(directory)                    # in on_start: counts the input of the last death
    report_death(self.tell, journal)                # the supervisor does not count that death
    if journal.is_quarantined(key): ...                  # report it, leave it alone
    with journal.handling(key): decide(...)             # the code that may crash: a few microseconds of overhead
    actor.start_task(work(), record=journal.record_of(lambda: key))     # the same for each step of a task

Do not await inside the block: other work done meanwhile would be blamed too. The key of a task is recorded during
its own steps and those of the tasks that it begins. A death above the ceiling of memory, by a SIGKILL that the fork
server did not send (the kernel's OOM killer, an operator), or while a signal had stopped the process, is blamed on the
key whose steps made at least half of the process's growth, in hand or not, else on nothing (`memory_growth.py`): no
input raises SIGKILL or SIGSTOP. A death while the host has no threads left is blamed on nothing, and neither is an
end by order, as with the supervisor or with the whole agent.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import struct
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from .addresses import ActorName
from .memory_growth import Growth, MemoryGrowth, blamed
from .process_messages import BY_ITSELF, DiedOnInput, LastEnd
from .protocol import FORK_SERVER
from .state_file import DamagedError, StateFile, set_aside
from .thread_shortage import lacks_threads
from .unwritten_files import UNWRITTEN

log = logging.getLogger(__name__)
_VERSION = 2
_HEAD = struct.Struct("!II")
_SIZES = struct.Struct("!III")
_EMPTY = _HEAD.pack(0, 0)
_MOST_KEY_BYTES = 512
_LARGEST_AT = 1024
"""Where the record of the key that made the process grow most begins."""


class QuarantinePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When a key is in quarantine."""

    crashes: int = 3
    window_seconds: float = 3600.0
    """How long a crash counts."""
    most_keys: int = 512
    """The number of keys remembered; the key with the oldest last crash is dropped first."""


class Crashes(msgspec.Struct, frozen=True):
    """Times of the crashes on each key, seconds since the epoch, oldest first. Pure."""

    times: dict[str, tuple[float, ...]] = {}

    def add(self, key: str, now: float, policy: QuarantinePolicy) -> Crashes:
        """Add a crash on the key."""
        kept = {other: self._recent_times(other, now, policy) for other in self.times}
        kept[key] = (*kept.get(key, ()), now)[-policy.crashes :]
        newest = sorted((other for other in kept if kept[other]), key=lambda other: kept[other][-1])
        return Crashes({other: kept[other] for other in newest[-policy.most_keys :]})

    def count(self, key: str, now: float, policy: QuarantinePolicy) -> int:
        """The number of crashes on the key that count now."""
        return len(self._recent_times(key, now, policy))

    def _recent_times(self, key: str, now: float, policy: QuarantinePolicy) -> tuple[float, ...]:
        # after the clock is set back a crash must not count for ever
        return tuple(time for time in self.times.get(key, ()) if abs(now - time) <= policy.window_seconds)


class TaskRecord:
    """Records the key of a task during its steps (`task_context.InputRecord`)."""

    def __init__(self, key: Callable[[], str], write: Callable[[str], None], clear: Callable[[str], None]) -> None:
        self._key, self._write, self._clear = key, write, clear
        self._started = ""

    def start(self) -> None:
        self._started = self._key()
        with suppress(OSError):  # a full disk must not end the actor; then no input is blamed
            self._write(self._started)

    def end(self) -> None:
        with suppress(OSError):
            self._clear(self._started)


class Journal:
    """An actor's journal, in its own directory: `current`, written in place, and `crashes`, replaced by rename."""

    def __init__(
        self,
        directory: Path,
        policy: QuarantinePolicy = QuarantinePolicy(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.time,
        *,
        last_end: LastEnd = BY_ITSELF,
    ) -> None:
        """Reads the journal of the last incarnation and counts the key that it died on. Raises OSError.

        `last_end`: how that incarnation ended."""
        self._file = StateFile(directory / "crashes", Crashes, _VERSION)
        self._policy, self._clock = policy, clock
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.damaged = ""
        """The path to which an unreadable file was moved, '' if there was none."""
        self._crashes = self._load()
        self._path = directory / "current"
        self._fd = _open_journal(self._path)
        self._close = weakref.finalize(self, os.close, self._fd)
        current, largest = self._read(), self._read(_LARGEST_AT)
        self.died_on = "" if last_end.by_order else _blamed(current, largest, last_end.memory_bytes // 1024)
        """The key that the last incarnation died on; '' for none, and if no input is to blame."""
        if self.died_on and lacks_threads():
            log.warning("no input is blamed for the last death: the host has no threads left")
            self.died_on = ""
        self._growth = MemoryGrowth(policy.most_keys)
        if current.key:
            self._put(_EMPTY)
        if largest.key:
            self._put(_EMPTY, _LARGEST_AT)
        self.bounds_death = bool(self.died_on) and not self.is_quarantined(self.died_on)
        """Whether that death is one of those that the quarantine allows each input."""
        if self.died_on:
            self._crashes = self._crashes.add(self.died_on, clock(), policy)
            self._file.save(self._crashes)

    @contextmanager
    def handling(self, key: str) -> Iterator[None]:
        """Record the key for the block. An exception ends the process, and leaves the record."""
        record = self.record_of(lambda: key)
        record.start()
        yield
        record.end()

    def record_of(self, key: Callable[[], str]) -> TaskRecord:
        """A record for the steps of a task; each step asks `key` first."""
        return TaskRecord(key, self._write, self._clear)

    def is_quarantined(self, key: str) -> bool:
        return self.crashes_on(key) >= self._policy.crashes

    def crashes_on(self, key: str) -> int:
        """How many incarnations died on the key within the window."""
        return self._crashes.count(_stored_form(key), self._clock(), self._policy)

    def close(self) -> None:
        self._close()

    def _write(self, key: str) -> None:
        self._put(_record(self._growth.started(_stored_form(key))))

    def _clear(self, key: str) -> None:
        if largest := self._growth.ended(_stored_form(key)):
            self._put(_record(largest), _LARGEST_AT)
        self._put(_EMPTY)

    def _put(self, record: bytes, offset: int = 0) -> None:
        try:
            os.pwrite(self._fd, record, offset)
        except OSError as error:
            UNWRITTEN.failed(self._path, error)
            raise
        UNWRITTEN.written(self._path)

    def _read(self, offset: int = 0) -> Growth:
        content = os.pread(self._fd, _HEAD.size + _SIZES.size + _MOST_KEY_BYTES, offset)
        if len(content) < _HEAD.size:
            return Growth()
        length, checksum = _HEAD.unpack_from(content)
        data = content[_HEAD.size : _HEAD.size + length]
        if len(data) < _SIZES.size or len(data) != length or zlib.crc32(data) != checksum:
            # the machine went down during a write: no process died on it
            return Growth()
        return Growth(data[_SIZES.size :].decode(errors="replace"), *_SIZES.unpack_from(data))

    def _load(self) -> Crashes:
        """Raises OSError."""
        try:
            return self._file.load() or Crashes()
        except DamagedError:
            self.damaged = str(self._file.damaged_path)
            return Crashes()


def _blamed(current: Growth, largest: Growth, memory: int) -> str:
    """`memory`: KiB that the last incarnation had at most, if only its growth tells what is to blame; else 0."""
    if not memory:
        return current.key
    found = blamed(current, largest, memory)
    if current.key and not found:
        log.warning(
            "no input is blamed for the last death, by signal or for lack of memory: none made the process grow most"
        )
    return found


def report_death(tell: Callable[[ActorName, DiedOnInput], None], journal: Journal) -> None:
    """Tell the supervisor, as the actor starts, that its last incarnation died on an input. Otherwise several harmful
    inputs at once would exceed the supervisor's intensity, and end unrelated actors."""
    if journal.bounds_death:
        tell(FORK_SERVER, DiedOnInput())


def _open_journal(path: Path) -> int:
    """A descriptor of the file. Anything in its place that is not a regular file is renamed first. Raises OSError."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            set_aside(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def content_key(name: str, content: bytes) -> str:
    """The key of an input with this name and content. Changed content has another key, so a corrected input is tried
    again."""
    return f"{name}/{hashlib.sha256(content).hexdigest()[:16]}"


def _record(growth: Growth) -> bytes:
    """What is written for a key, again with each step of its task."""
    data = _SIZES.pack(growth.first, growth.grown, growth.peak) + growth.key.encode()
    return _HEAD.pack(len(data), zlib.crc32(data)) + data


@lru_cache(maxsize=128)
def _stored_form(key: str) -> str:
    """The stored form of a key: itself, or its digest if it is long."""
    data = key.encode(errors="replace")
    if 0 < len(data) <= _MOST_KEY_BYTES:
        return data.decode()
    return f"blake2b:{hashlib.blake2b(data, digest_size=16).hexdigest()}"
