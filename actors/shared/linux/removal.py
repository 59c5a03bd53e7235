"""Removes a tree of untrusted files: never follows a symlink, never crosses into another mount."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from supervision.errors import error_reason

from .confined_paths import RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, has_openat2, openat2

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH: Final = 200
"""Each level uses two file descriptors. Deeper directories are moved to the top of the tree and removed there."""
_ROUNDS: Final = 3
"""The most passes over a directory: a listing may miss entries while others are removed."""


FEW_FILES: Final = 100
FEW_BYTES: Final = 16 << 20
_BLOCK: Final = 512


def have_few_files(directories: Iterable[str]) -> bool:
    """Whether the trees have at most FEW_FILES entries with FEW_BYTES together: removing them takes milliseconds. False
    where that cannot be seen: anything may be below a path that is longer than the kernel takes."""
    files, size, waiting = 0, 0, list(directories)
    try:
        while waiting:
            for entry_bytes, below in _sizes(waiting.pop()):
                files, size = files + 1, size + entry_bytes
                if files > FEW_FILES or size > FEW_BYTES:
                    return False
                if below:
                    waiting.append(below)
    except OSError:
        return False
    return True


def _sizes(directory: str) -> Iterator[tuple[int, str]]:
    """The bytes of each entry, and its path if it is a directory, else ''. A missing directory has none. Raises
    OSError."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                # a file may have more blocks than its size (fallocate), and a sparse one fewer
                size = max(about.st_size, about.st_blocks * _BLOCK)
                yield size, entry.path if entry.is_dir(follow_symlinks=False) else ""
    except FileNotFoundError:
        return


class MountInsideError(OSError):
    """Something is mounted inside the tree. `errno` is EXDEV, `filename` the path."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, "is a mount point: not removed", path)


def remove_tree(path: str, *, keep_root: bool = False) -> None:
    """Remove a directory with its content, or a file or symlink; a missing path is no error.

    When MountInsideError is raised, other parts of the tree may be removed already; nothing inside the mount is
    touched. If something else cannot be removed (an immutable file), the rest is removed and then the first error is
    raised as OSError.
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
    """Like remove_tree, for `name` in an open directory; `where` is the directory's path for error texts."""
    removal = _Removal()
    removal.tree(above, name, f"{where}/{name}", keep_root)
    if removal.failed is not None:
        raise removal.failed


class _Removal:
    """The removal of one tree. `failed` is the first error."""

    def __init__(self) -> None:
        self.failed: OSError | None = None
        self._top = -1
        self._moved_up = 0

    def tree(self, above: int, name: str, path: str, keep: bool) -> None:
        """Raises MountInsideError; other errors are recorded."""
        if not self._is_directory(above, name, path):
            return
        try:
            self._top = _enter(above, name, path)
        except MountInsideError:
            raise
        except OSError as error:
            self._note(error)
            return
        try:
            rounds = 0
            while rounds < _ROUNDS:
                moved_up = self._moved_up
                self._empty(self._top, path, _MAX_DEPTH)
                rounds += moved_up == self._moved_up
                if rounds and (keep or self.failed or self._rmdir(above, name, path)):
                    return
        finally:
            os.close(self._top)
        self._note(OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path))

    def _note(self, error: OSError) -> None:
        self.failed = self.failed or error

    def _is_directory(self, above: int, name: str, path: str) -> bool:
        """Whether it is a directory; anything else is removed. Raises MountInsideError."""
        try:
            if stat.S_ISDIR(os.lstat(name, dir_fd=above).st_mode):
                return True
            os.unlink(name, dir_fd=above)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._record(error, path)
        return False

    def _record(self, error: OSError, path: str) -> None:
        located = _with_path(error, path)
        if isinstance(located, MountInsideError):
            raise located from None
        self._note(located)

    def _empty(self, fd: int, path: str, depth: int) -> None:
        """Yield entry by entry, so that millions of entries take no memory."""
        with os.scandir(fd) as entries:
            for entry in entries:
                self._remove(fd, entry.name, f"{path}/{entry.name}", depth)

    def _remove(self, above: int, name: str, path: str, depth: int) -> None:
        if not self._is_directory(above, name, path):
            return
        if depth == 0:
            self._move_up(above, name, path)
            return
        try:
            fd = _enter(above, name, path)
        except MountInsideError:
            raise
        except OSError as error:
            self._note(error)
            return
        try:
            for _ in range(_ROUNDS):
                self._empty(fd, path, depth - 1)
                if self._rmdir(above, name, path):
                    return
        finally:
            os.close(fd)
        self._note(OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path))

    def _rmdir(self, above: int, name: str, path: str) -> bool:
        """Returns False if the directory is not empty yet. Raises MountInsideError."""
        try:
            os.rmdir(name, dir_fd=above)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno == errno.ENOTEMPTY and self.failed is None:
                return False
            self._record(error, path)
        return True

    def _move_up(self, above: int, name: str, path: str) -> None:
        try:
            os.rename(name, f"..lifted-{self._moved_up}", src_dir_fd=above, dst_dir_fd=self._top)
        except OSError as error:
            self._record(error, path)
        else:
            self._moved_up += 1


def _enter(above: int, name: str, path: str) -> int:
    """Open a directory of the same mount. Raises MountInsideError."""
    if has_openat2():
        try:
            return openat2(above, name, _DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)
        except OSError as error:
            raise MountInsideError(path) if error.errno == errno.EXDEV else _with_path(error, path) from None
    fd = os.open(name, _DIRECTORY, dir_fd=above)
    if mount_id(fd) == mount_id(above):
        return fd
    os.close(fd)
    raise MountInsideError(path)


def mount_id(fd: int) -> int:
    """The mount id of an open file, as in mountinfo."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key == "mnt_id":
                return int(value)
    raise OSError(errno.ENOSYS, "the kernel does not report mount ids", f"/proc/self/fdinfo/{fd}")


def _with_path(error: OSError, path: str) -> OSError:
    if error.errno == errno.EBUSY:
        return MountInsideError(path)
    return OSError(error.errno or errno.EIO, error_reason(error), path)
