"""Private files, written atomically and safe against loss of power, and checksummed values in them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from .errors import UNREADABLE, error_reason, told_as
from .readable_texts import readable
from .unfinished_files import remove_unfinished, temporary_name
from .unwritten_files import UNWRITTEN

T = TypeVar("T")
MAX_BYTES: Final = 64 << 20
"""The largest file that is read."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotAFileError(OSError):
    """It is no regular file, or a larger one than the agent writes."""


def read_private(path: Path | str) -> bytes:
    """The content of a file of this agent. Raises OSError; NotAFileError if it is not a regular file, because a FIFO
    would block and a device has no end, or if it has more than MAX_BYTES, which the agent never writes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise NotAFileError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(about.st_mode):
            raise NotAFileError(errno.EINVAL, "not a regular file", str(path))
        if about.st_size > MAX_BYTES:
            raise NotAFileError(errno.EFBIG, f"larger than {MAX_BYTES >> 20} MiB", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    finally:
        os.close(descriptor)


def write_private(path: Path | str, data: bytes, *, sync: bool = True, staging: Path | None = None) -> None:
    """Write `data` to `path` atomically, readable by the owner only. A missing directory is created with mode 0700.

    `sync`: wait until it is on disk. Otherwise a loss of power may bring back an older version. `staging`: another
    directory of the same file system, where it is written first, if the program that reads it watches its own for new
    files. A directory in the place of the file is renamed to `<name>.damaged`. Raises OSError; `supervise status` then
    names the file until it is written.
    """
    path = Path(path)
    temporary = temporary_name(staging / path.name if staging else path)
    try:
        with told_as(temporary, str(path)):
            _write(path, data, temporary, sync)
    except OSError as error:
        UNWRITTEN.failed(path, error)
        raise
    UNWRITTEN.written(path)


def _write(path: Path, data: bytes, temporary: str, sync: bool) -> None:
    remove_unfinished(os.path.dirname(temporary))
    descriptor = _open_new(temporary)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        try:
            os.replace(temporary, path)
        except IsADirectoryError:
            set_aside(path)
            os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    if sync:
        _sync_directory(path.parent)


def _open_new(path: str) -> int:
    """A descriptor of a new file. A file of that name is removed first: others may write to the directory, and opening
    a FIFO would block."""
    try:
        return os.open(path, _NEW, 0o600)
    except FileExistsError:
        os.unlink(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    return os.open(path, _NEW, 0o600)


def set_aside(path: Path) -> Path:
    """Rename a damaged file, or what is in the place of a file or socket, to `<name>.damaged`, with a number after it
    if that is taken. Returns its new path. Raises OSError."""
    damaged_path, is_directory = path.with_name(f"{path.name}.damaged"), path.is_dir() and not path.is_symlink()
    if os.path.lexists(damaged_path) and (is_directory or damaged_path.is_dir()):
        # only an empty directory can be replaced, and only by a directory
        damaged_path = path.with_name(f"{damaged_path.name}.{time.time_ns()}")
    return path.replace(damaged_path)


def _sync_directory(directory: Path) -> None:
    """A file's name survives a loss of power only after its directory is synced."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class DamagedError(ValueError):
    """The file is damaged."""


class _Envelope(msgspec.Struct, frozen=True):
    version: int
    sha256: str
    payload: msgspec.Raw


def encode_versioned(value: object, version: int) -> bytes:
    """Encode a value as JSON, with version and checksum. Lone surrogates in its texts are replaced."""
    try:
        payload = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of somebody's file
        payload = msgspec.json.encode(readable(value))
    return msgspec.json.encode(_Envelope(version, hashlib.sha256(payload).hexdigest(), msgspec.Raw(payload)))


def decode_versioned(raw: bytes, kind: type[T], version: int) -> T:
    """Decode what `encode_versioned` has made. Raises DamagedError, also for another version."""
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
    """A value in a private file. Its owner, by `load`, renames a file that is damaged or of another version to
    `<name>.damaged`, if the disk lets it; `read` is for others, and changes nothing."""

    def __init__(self, path: Path | str, kind: type[T], version: int = 1, *, sync: bool = True) -> None:
        self.path, self.damaged_path = Path(path), Path(path)
        """Where the value is, and where `load` has left it if it was damaged."""
        self._kind, self._version, self._sync = kind, version, sync

    def load(self) -> T | None:
        """The value; None if there is no file. Raises OSError; DamagedError, which says what became of the file."""
        try:
            return self._value()
        except (DamagedError, NotAFileError) as error:
            raise DamagedError(f"{self.path} is damaged{self._set_aside()}: {error_reason(error)}") from None

    def read(self) -> T | None:
        """The same, and the file stays where it is. Raises OSError, DamagedError."""
        try:
            return self._value()
        except (DamagedError, NotAFileError) as error:
            raise DamagedError(f"{self.path} is damaged: {error_reason(error)}") from None

    def _value(self) -> T | None:
        """Raises OSError, DamagedError."""
        try:
            return decode_versioned(read_private(self.path), self._kind, self._version)
        except FileNotFoundError:
            return None

    def _set_aside(self) -> str:
        try:
            self.damaged_path = set_aside(self.path)
        except OSError as error:
            return f", and cannot be set aside ({error_reason(error)})"
        return " and set aside"

    def save(self, value: T) -> None:
        """Raises OSError."""
        write_private(self.path, encode_versioned(value, self._version), sync=self._sync)

    def remove(self) -> None:
        """Remove the file if it exists. Raises OSError."""
        self.path.unlink(missing_ok=True)
        UNWRITTEN.written(self.path)
