"""Opens and creates user-supplied paths without leaving their directory.

With openat2(2) (Linux 5.6) the kernel resolves the whole path and keeps it inside, despite concurrent renames.
Without it the path is resolved one component at a time with O_PATH | O_NOFOLLOW.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from supervision.errors import told_as

RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

_SYS_OPENAT2: Final = 437  # the same number on every architecture
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RETRIES: Final = 64
_MAX_LINKS: Final = 40
_REFUSED: Final = {errno.EXDEV, errno.ELOOP}
_WITHOUT_CALL: Final = {errno.ENOSYS, errno.EPERM}
"""The errors of a kernel that lacks a system call, and of a seccomp filter that refuses it."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class UnsafePathError(OSError):
    """The path leaves, or might leave, its directory. `errno` is EXDEV or ELOOP."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def clean_relative(path: str) -> list[str]:
    """The components of a relative path. Raises UnsafePathError for an absolute one and for `..`."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise UnsafePathError(errno.EXDEV, "must be relative and without '..'", path)
    return parts


@functools.cache
def has_openat2() -> bool:
    """Whether this kernel (and seccomp filter) supports openat2. Raises OSError if that cannot be seen, as without a
    free descriptor: the next call looks again."""
    try:
        os.close(openat2(None, "/", os.O_PATH | os.O_CLOEXEC, 0))
    except OSError as error:
        if error.errno not in _WITHOUT_CALL:
            raise
        return False
    return True


def openat2(directory: int | None, path: str, flags: int, resolve: int, mode: int = 0) -> int:
    """openat2(2) at a directory's file descriptor, or the current directory. Raises OSError."""
    how = _OpenHow(flags, mode, resolve)
    at = -100 if directory is None else directory
    for attempt in range(_RETRIES):
        fd = _libc.syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(at),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        number = ctypes.get_errno()
        # EAGAIN: something was renamed while the kernel resolved '..', so that the result is uncertain
        if number not in {errno.EAGAIN, errno.EINTR} or attempt == _RETRIES - 1:
            break
    kind = UnsafePathError if number in _REFUSED and resolve else OSError
    raise kind(number, os.strerror(number), path)


def open_beneath(directory: int, path: str, *, flags: int = os.O_PATH, links: bool = False) -> int:
    """A file descriptor of `path` below the directory. '' is the directory itself.

    Symlinks are refused; with `links` those that stay below the directory are followed, which a projected volume needs.
    Raises UnsafePathError, or another OSError (ENOENT, ENOTDIR, ...).
    """
    name = "/".join(clean_relative(path)) or "."
    if not has_openat2():
        return _walk(directory, name, flags, links=links)
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (0 if links else RESOLVE_NO_SYMLINKS)
    return openat2(directory, name, flags | os.O_CLOEXEC, resolve)


@contextmanager
def opened_beneath(directory: str, path: str) -> Iterator[str]:
    """A path that refers to the directory `path` below another one as long as the block runs, without following a
    symlink below that. Raises OSError."""
    top = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_beneath(top, path, flags=os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(top)
    try:
        with told_as(path_of(fd), f"{directory}/{path}".rstrip("/")):
            yield path_of(fd)
    finally:
        os.close(fd)


def make_directories(directory: int, path: str, mode: int) -> int:
    """Open `path` below the directory (O_PATH, see open_beneath with links), creating missing directories.

    An existing path may be a file. New directories get `mode` despite the umask. Raises like open_beneath.
    """
    parts = clean_relative(path)
    for known in range(len(parts), -1, -1):
        try:
            fd = open_beneath(directory, "/".join(parts[:known]), links=True)
        except FileNotFoundError:
            continue
        return _make_rest(fd, parts[known:], mode)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def path_of(fd: int) -> str:
    """A path that refers to this open file, even if its name changes."""
    return f"/proc/self/fd/{fd}"


def _make_rest(fd: int, parts: list[str], mode: int) -> int:
    try:
        for part in parts:
            _make_one(fd, part, mode)
            deeper = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = deeper
    except BaseException:
        os.close(fd)
        raise
    return fd


def _make_one(fd: int, name: str, mode: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=fd)
    except FileExistsError:
        return
    new_fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        # keep a setgid bit inherited from the parent, as mkdir(2) does
        os.fchmod(new_fd, mode | (os.fstat(new_fd).st_mode & stat.S_ISGID))
    finally:
        os.close(new_fd)


def _walk(directory: int, path: str, flags: int, *, links: bool) -> int:
    """Like openat2 with RESOLVE_BENEATH, in user space. With `links`, symlinks without `..` are followed."""
    todo = path.split("/")
    fd = os.open(".", _DIRECTORY, dir_fd=directory)
    seen = 0
    try:
        while todo:
            part = todo.pop(0)
            last = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            if not stat.S_ISLNK(os.fstat(last).st_mode):
                os.close(fd)
                fd = last
                continue
            target = os.readlink("", dir_fd=last)
            os.close(last)
            seen += 1
            if not links or seen > _MAX_LINKS:
                raise UnsafePathError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            todo = clean_relative(target) + todo
        # opened by descriptor, because its name may now refer to another file
        return os.open(path_of(fd), flags | os.O_CLOEXEC)
    finally:
        os.close(fd)
