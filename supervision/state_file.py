"""Private files that are there whole or not at all, also after a loss of power; and values in them with a checksum."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from .errors import UNREADABLE

T = TypeVar("T")


def write_private(path: Path | str, data: bytes, *, sync: bool = True) -> None:
    """Put `data` at `path` whole or not at all, readable by the owner only; a missing directory is made, 0700.

    `sync`: wait until it is on the disk. Without, an older version may be there after a loss of power. Raises OSError.
    """
    path = Path(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if sync:
            _sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """A name, too, is only there after a loss of power once it was synced."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class DamagedError(ValueError):
    """The file does not hold what was written to it."""


class _Envelope(msgspec.Struct, frozen=True):
    version: int
    sha256: str
    payload: msgspec.Raw


def seal(value: object, version: int) -> bytes:
    """A value with version and checksum, JSON."""
    payload = msgspec.json.encode(value)
    return msgspec.json.encode(_Envelope(version, hashlib.sha256(payload).hexdigest(), msgspec.Raw(payload)))


def unseal(raw: bytes, kind: type[T], version: int) -> T:
    """The value that was sealed. Raises DamagedError, also for another version."""
    try:
        envelope = msgspec.json.decode(raw, type=_Envelope)
        payload = bytes(envelope.payload)
        if envelope.version != version:
            raise DamagedError(f"is of version {envelope.version}, not {version}")
        if hashlib.sha256(payload).hexdigest() != envelope.sha256:
            raise DamagedError("has a wrong checksum")
        return msgspec.json.decode(payload, type=kind)
    except DamagedError:
        raise
    except UNREADABLE as error:
        raise DamagedError(str(error)) from None


class StateFile(Generic[T]):
    """One value in a private file. One that is damaged, or of another version, is set aside as `<name>.damaged`."""

    def __init__(self, path: Path | str, kind: type[T], version: int = 1, *, sync: bool = True) -> None:
        self.path = Path(path)
        self._kind, self._version, self._sync = kind, version, sync

    def load(self) -> T | None:
        """The value; None where there is no file. Raises OSError, and DamagedError once the file is set aside."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return unseal(raw, self._kind, self._version)
        except DamagedError as error:
            with suppress(OSError):
                self.path.replace(self.aside)
            raise DamagedError(f"{self.path} is damaged and set aside: {error}") from None

    def save(self, value: T) -> None:
        """Raises OSError."""
        write_private(self.path, seal(value, self._version), sync=self._sync)

    def remove(self) -> None:
        """Nothing to remove is fine. Raises OSError."""
        self.path.unlink(missing_ok=True)

    @property
    def aside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.damaged")
