"""Removing a tree of files that others wrote: never follows a symlink, never crosses into another mount."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from .beneath import RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, has_openat2, openat2

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH: Final = 400
"""Each level holds one file descriptor open."""


class MountInsideError(OSError):
    """Something is mounted inside the tree. `errno` is EXDEV, `filename` the place."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, "is a mount point: not removed", path)


def remove_tree(path: str, *, keep_root: bool = False) -> None:
    """Remove a directory and all that is in it, or a file or symlink; nothing there is fine.

    What lies before a mount in the tree may be gone when MountInsideError is raised; nothing inside the mount is
    touched. Raises OSError.
    """
    parent, name = os.path.split(path.rstrip("/"))
    try:
        above = os.open(parent or "/", _DIRECTORY & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        remove_at(above, name, where=parent, keep_root=keep_root)
    finally:
        os.close(above)


def remove_at(above: int, name: str, *, where: str, keep_root: bool = False) -> None:
    """As remove_tree, for `name` in an open directory; `where` is that directory's path, for the texts of errors."""
    _remove(above, name, f"{where}/{name}", keep_root, _MAX_DEPTH)


def _remove(above: int, name: str, path: str, keep: bool, depth: int) -> None:
    try:
        is_directory = stat.S_ISDIR(os.lstat(name, dir_fd=above).st_mode)
        if not is_directory:
            os.unlink(name, dir_fd=above)
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise _told(error, path) from None
    if depth == 0:
        raise OSError(errno.ELOOP, "is nested too deeply to be removed", path)
    fd = _enter(above, name, path)
    try:
        for entry in os.listdir(fd):
            _remove(fd, entry, f"{path}/{entry}", False, depth - 1)
    finally:
        os.close(fd)
    if not keep:
        try:
            os.rmdir(name, dir_fd=above)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _told(error, path) from None


def _enter(above: int, name: str, path: str) -> int:
    """Open a directory of the same mount. Raises MountInsideError."""
    if has_openat2():
        try:
            return openat2(above, name, _DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)
        except OSError as error:
            raise MountInsideError(path) if error.errno == errno.EXDEV else _told(error, path) from None
    fd = os.open(name, _DIRECTORY, dir_fd=above)
    if mount_id(fd) == mount_id(above):
        return fd
    os.close(fd)
    raise MountInsideError(path)


def mount_id(fd: int) -> int:
    """The mount that an open file is on, as numbered in mountinfo."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key == "mnt_id":
                return int(value)
    raise OSError(errno.ENOSYS, "the kernel does not tell mount ids", f"/proc/self/fdinfo/{fd}")


def _told(error: OSError, path: str) -> OSError:
    if error.errno == errno.EBUSY:
        return MountInsideError(path)
    return OSError(error.errno or errno.EIO, error.strerror or str(error), path)
