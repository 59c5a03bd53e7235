"""Which input an actor died on, and which input it must not touch again.

An actor takes a key in hand (a pod's UID, a file's hash) before it runs code that the input might crash, and puts it
down afterwards. What is still in hand when its next incarnation starts is what it died on. After `crashes` deaths on
the same key within `window_seconds` the key is parked: the input is at fault, not the actor, and its mates go on.

    journal = Journal(directory)                    # in on_start: counts what the last incarnation died on
    if journal.is_parked(key): ...                  # report it, leave it alone
    with journal.hand(key): decide(...)             # the code that may crash: a few microseconds of overhead

Take in hand what runs without awaiting: other work that is done meanwhile would share the blame. A kill from outside
counts too, as nobody can tell; three by chance on one key within the window are not expected.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from .errors import UNREADABLE

_VERSION = 1
_HEAD = struct.Struct("!II")
_EMPTY = _HEAD.pack(0, 0)
_MOST_KEY_BYTES = 512


class QuarantinePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When a key is parked."""

    crashes: int = 3
    window_seconds: float = 3600.0
    """A crash counts for so long."""
    most_keys: int = 512
    """So many are remembered; the one whose last crash is oldest is forgotten first."""


class Crashes(msgspec.Struct, frozen=True):
    """Times of the crashes on each key, seconds since the epoch, oldest first. Pure."""

    times: dict[str, tuple[float, ...]] = {}

    def add(self, key: str, now: float, policy: QuarantinePolicy) -> Crashes:
        """One more crash on the key."""
        kept = {other: self._recent(other, now, policy) for other in self.times}
        kept[key] = (*kept.get(key, ()), now)[-policy.crashes :]
        newest = sorted((other for other in kept if kept[other]), key=lambda other: kept[other][-1])
        return Crashes({other: kept[other] for other in newest[-policy.most_keys :]})

    def count(self, key: str, now: float, policy: QuarantinePolicy) -> int:
        """Crashes on the key that count now."""
        return len(self._recent(key, now, policy))

    def parked(self, now: float, policy: QuarantinePolicy) -> list[str]:
        """The keys that are parked now."""
        return [key for key in self.times if self.count(key, now, policy) >= policy.crashes]

    def without(self, key: str) -> Crashes:
        """Forgiven."""
        return Crashes({other: times for other, times in self.times.items() if other != key})

    def _recent(self, key: str, now: float, policy: QuarantinePolicy) -> tuple[float, ...]:
        # a clock that was set back must not make a crash count for ever
        return tuple(time for time in self.times.get(key, ()) if abs(now - time) <= policy.window_seconds)


class _File(msgspec.Struct):
    version: int
    checksum: str
    crashes: msgspec.Raw


class Journal:
    """One actor's, in a directory of its own: `in_hand`, written in place, and `crashes`, replaced by rename."""

    def __init__(
        self,
        directory: Path,
        policy: QuarantinePolicy = QuarantinePolicy(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Reads what the last incarnation left, and counts what it died on. Raises OSError."""
        self._path, self._policy, self._clock = directory / "crashes", policy, clock
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.damaged = ""
        """Where a file that could not be read was put, '' when all was well."""
        self._crashes = self._load()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(directory / "in_hand", flags, 0o600)
        self.died_on = self._in_hand()
        """The key that the last incarnation had in hand when it ended, '' for none."""
        if self.died_on:
            self._crashes = self._crashes.add(self.died_on, clock(), policy)
            self._save()
            self._put_down()

    @contextmanager
    def hand(self, key: str) -> Iterator[None]:
        """The key is in hand; it stays so when the block is left by an exception, which is to end the process."""
        name = _fitting(key)
        data = name.encode()
        os.pwrite(self._fd, _HEAD.pack(len(data), zlib.crc32(data)) + data, 0)
        yield
        self._put_down()

    def blame(self, key: str) -> None:
        """The actor is about to end because of this key, though by now another may be in hand. Raises OSError."""
        self._crashes = self._crashes.add(_fitting(key), self._clock(), self._policy)
        self._save()
        self._put_down()

    def is_parked(self, key: str) -> bool:
        return self.crashes_on(key) >= self._policy.crashes

    def crashes_on(self, key: str) -> int:
        """How often an incarnation died on it, within the window."""
        return self._crashes.count(_fitting(key), self._clock(), self._policy)

    def parked(self) -> list[str]:
        return self._crashes.parked(self._clock(), self._policy)

    def forgive(self, key: str) -> None:
        """The input has changed, or is gone. Raises OSError."""
        name = _fitting(key)
        if name in self._crashes.times:
            self._crashes = self._crashes.without(name)
            self._save()

    def close(self) -> None:
        os.close(self._fd)

    def _put_down(self) -> None:
        os.pwrite(self._fd, _EMPTY, 0)

    def _in_hand(self) -> str:
        content = os.pread(self._fd, _HEAD.size + _MOST_KEY_BYTES, 0)
        if len(content) < _HEAD.size:
            return ""
        length, checksum = _HEAD.unpack_from(content)
        data = content[_HEAD.size : _HEAD.size + length]
        if len(data) != length or zlib.crc32(data) != checksum:
            # the machine went down in the middle of a write: no process died on it
            return ""
        return data.decode(errors="replace")

    def _load(self) -> Crashes:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return Crashes()
        try:
            file = msgspec.json.decode(content, type=_File)
            if file.version == _VERSION and file.checksum == _checksum(bytes(file.crashes)):
                return msgspec.json.decode(file.crashes, type=Crashes)
        except UNREADABLE:
            pass
        aside = self._path.with_name("crashes.damaged")
        os.replace(self._path, aside)
        self.damaged = str(aside)
        return Crashes()

    def _save(self) -> None:
        crashes = msgspec.json.encode(self._crashes)
        content = msgspec.json.encode(_File(_VERSION, _checksum(crashes), msgspec.Raw(crashes)))
        new = self._path.with_name("crashes.new")
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(new, self._path)


def _fitting(key: str) -> str:
    """The key as it is kept: itself, or its digest when it is long."""
    data = key.encode(errors="replace")
    if 0 < len(data) <= _MOST_KEY_BYTES:
        return data.decode()
    return f"blake2b:{hashlib.blake2b(data, digest_size=16).hexdigest()}"


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
