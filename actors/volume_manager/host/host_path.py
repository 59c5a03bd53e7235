"""Checks the type of a hostPath, or creates it. Runs in a disposable process, because the path may hang."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Final

from actors.shared.linux.directories import make_path

_CHECKS: Final = {
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "Directory": (stat.S_ISDIR, "a directory"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def check_host_path(path: str, type: str) -> str:
    """Check the type of a hostPath, or create the path. The check uses one file descriptor, so all of it concerns the
    same object.

    Returns '' when the type is right, else the reason, in the kubelet's words.
    """
    try:
        if type == "DirectoryOrCreate":
            _make_directory(path)
        elif type == "FileOrCreate":
            _make_file(path)
    except OSError as error:
        made = "mkdir" if type == "DirectoryOrCreate" else "open"
        return f"{made} {os.fsdecode(error.filename or path)}: {(error.strerror or '').lower()}"
    check, wanted = _CHECKS[type]
    failure = f"hostPath type check failed: {path} is not {wanted}"
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return failure
    try:
        return "" if check(os.fstat(fd).st_mode) else failure
    finally:
        os.close(fd)


def _make_directory(path: str) -> None:
    with suppress(FileExistsError):
        make_path(path, 0o755)


def _make_file(path: str) -> None:
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return
    try:
        os.fchmod(fd, 0o644)
    finally:
        os.close(fd)
