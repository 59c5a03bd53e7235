"""fsGroup: a volume's files are given to a group (API doc, PodSecurityContext). Runs in a disposable process."""

from __future__ import annotations

import os
import stat

_FILE, _DIRECTORY = 0o660, 0o770 | stat.S_ISGID


def give_to_group(path: str, group: int, when_root_differs: bool) -> None:
    """All below `path`, no link followed. `when_root_differs`: nothing is done when the top is right already
    (fsGroupChangePolicy OnRootMismatch). Raises OSError."""
    if when_root_differs and _is_right(path, group):
        return
    for top, names, files, fd in os.fwalk(path, topdown=False, follow_symlinks=False):
        for name in files:
            _give(name, fd, group)
        for name in names:
            _give(name, fd, group)
        if top == path:
            os.fchown(fd, -1, group)
            os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) | _DIRECTORY)


def _is_right(path: str, group: int) -> bool:
    about = os.stat(path)
    return about.st_gid == group and about.st_mode & _DIRECTORY == _DIRECTORY


def _give(name: str, directory: int, group: int) -> None:
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
    """By a descriptor, so that a link that takes its place meanwhile is not followed."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISLNK(os.fstat(fd).st_mode):
            os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)
