"""fsGroup: changes the group of a volume's files (API doc, PodSecurityContext). Runs in disposable processes.

A volume may have millions of files, so a call ends after some seconds and returns where the next call continues.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from typing import Any, Final

_FILE, _DIRECTORY = 0o660, 0o770 | stat.S_ISGID
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_PATH: Final = 4095
"""The kernel takes no longer path. Nor has the kubelet: what a container nests deeper must not fill the memory."""
MOST_ERRORS: Final = 3
"""The most errors of files that are returned."""


def group_of(path: str) -> int:
    """The group of the volume's top directory. Raises OSError."""
    return os.stat(path).st_gid


def apply_group(
    path: str, group: int, on_root_mismatch: bool, after: bytes = b"", seconds: float = 10.0
) -> dict[str, Any]:
    """Change every file below `path` that sorts after the relative path `after`, then the top directory. Links are not
    followed, nor is one that a driver has put in the place of the volume. `on_root_mismatch`: do nothing if the top
    directory has the group already. Returns `after`, the last file's path, b"" when all is done; the number of `files`;
    how many of them `failed`, and the texts of the first `errors`. Raises OSError when a directory cannot be listed, or
    is nested too deeply.
    """
    done, errors, failed, end = 0, list[str](), 0, time.monotonic() + seconds
    if stat.S_ISLNK(os.lstat(path).st_mode):
        os.lchown(path, -1, group)
        return {"after": b"", "files": 1, "failed": 0, "errors": errors}
    if on_root_mismatch and not after and _is_right(path, group):
        return {"after": b"", "files": 0, "failed": 0, "errors": errors}
    for directory, name, relative in _walk(path, tuple(os.fsdecode(after).split("/")) if after else ()):
        try:
            _change(name, directory, group)
        except OSError as error:
            failed += 1
            if len(errors) < MOST_ERRORS:
                errors.append(f"{relative}: {error.strerror}")
        done += 1
        if time.monotonic() >= end:
            return {"after": os.fsencode(relative), "files": done, "failed": failed, "errors": errors}
    fd = os.open(path, _OPEN)
    try:
        os.fchown(fd, -1, group)
        os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) | _DIRECTORY)
    finally:
        os.close(fd)
    return {"after": b"", "files": done + 1, "failed": failed, "errors": errors}


def _walk(path: str, after: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """For each file: descriptor of its directory, name and relative path; ordered by name, directories first."""
    top = os.open(path, _OPEN)
    stack = [(top, iter(sorted(os.listdir(top))), "", after)]
    try:
        while stack:
            directory, names, prefix, rest = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(stack.pop()[0])
                continue
            if rest and name < rest[0]:
                continue
            seen = bool(rest) and name == rest[0]
            relative = f"{prefix}{name}"
            if not seen:
                yield directory, name, relative
            deeper = _open_directory(name, directory)
            if deeper is not None:
                if len(os.fsencode(f"{path}/{relative}")) > _MOST_PATH:
                    os.close(deeper)
                    raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), f"{path}/{relative[:100]}...")
                stack.append((deeper, iter(sorted(os.listdir(deeper))), f"{relative}/", rest[1:] if seen else ()))
    finally:
        for directory, *_ in stack:
            os.close(directory)


def _open_directory(name: str, directory: int) -> int | None:
    """Open the directory; None if it is no directory or was removed meanwhile. Raises OSError."""
    try:
        return os.open(name, _OPEN, dir_fd=directory)
    except (NotADirectoryError, FileNotFoundError):
        return None
    except OSError:
        if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise
        return None


def _is_right(path: str, group: int) -> bool:
    about = os.stat(path)
    return about.st_gid == group and about.st_mode & _DIRECTORY == _DIRECTORY


def _change(name: str, directory: int, group: int) -> None:
    """Raises OSError."""
    try:
        about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        os.chown(name, -1, group, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            return
        more = _DIRECTORY if stat.S_ISDIR(about.st_mode) else _FILE
        _chmod(name, directory, stat.S_IMODE(about.st_mode) | more)
    except FileNotFoundError:
        pass  # removed meanwhile


def _chmod(name: str, directory: int, mode: int) -> None:
    """Change the mode by a descriptor, so that a link that replaces the file meanwhile is not followed."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISLNK(os.fstat(fd).st_mode):
            os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)
