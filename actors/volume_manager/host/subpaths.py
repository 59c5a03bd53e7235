"""subPath: one file or directory of a volume, bind mounted at its own path.

Containers may write to the volume meanwhile. So the file is opened without leaving the volume, and the open file is
mounted (CVE-2017-1002101, CVE-2021-25741). Runs in a disposable process.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.confined_paths import make_directories, path_of
from actors.shared.linux.directories import make_path

_DIRECTORY_MODE: Final = 0o750


def bind_subpath(volume: str, path: str, target: str, follow: bool) -> None:
    """Bind `path` of the volume at `volume` to `target`. Missing directories are made with the volume's mode.

    `follow`: the volume's own path may be a symlink, as for a hostPath. Raises OSError, UnsafePathError for a path that
    leaves the volume.
    """
    root = os.open(volume, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    try:
        fd = make_directories(root, path, stat.S_IMODE(os.fstat(root).st_mode))
    finally:
        os.close(root)
    try:
        _bind(fd, target)
    finally:
        os.close(fd)


def _bind(fd: int, target: str) -> None:
    target = os.path.join(os.path.realpath(os.path.dirname(target)), os.path.basename(target))
    for _ in mountinfo.below(mountinfo.read(), target):
        if _is_bound(fd, target):
            return
        mount_calls.umount(target, mount_calls.UMOUNT_NOFOLLOW | mount_calls.MNT_DETACH)
    make_target(target, directory=stat.S_ISDIR(os.fstat(fd).st_mode))
    bind_open(fd, target)


def _is_bound(fd: int, target: str) -> bool:
    """Whether the open file is mounted at `target`. What cannot be looked at is a dead file system: of an NFS server
    that has forgotten the file, or of a FUSE driver that has crashed."""
    try:
        return same_file(fd, target)
    except OSError:
        return False


def make_target(target: str, *, directory: bool) -> None:
    """Make the mount point, a file or a directory: a subPath may have changed from one to the other."""
    try:
        there = os.lstat(target).st_mode
    except FileNotFoundError:
        make_path(os.path.dirname(target), _DIRECTORY_MODE)
    else:
        if stat.S_ISDIR(there) == directory and not stat.S_ISLNK(there):
            return
        if stat.S_ISDIR(there):
            os.rmdir(target)
        else:
            os.unlink(target)
    if directory:
        os.mkdir(target, _DIRECTORY_MODE)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o640))


def same_file(fd: int, path: str) -> bool:
    """Whether the path leads to the open file."""
    there, here = os.stat(path), os.fstat(fd)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def bind_open(fd: int, target: str) -> None:
    """Bind mount an open file or directory to `target`, and check that it is the mounted one. Raises OSError."""
    mount_calls.bind(path_of(fd), target)
    if not same_file(fd, target):
        mount_calls.umount(target)
        raise OSError(errno.ESTALE, "something else was mounted than was opened", target)
