"""Making volumes. All functions are idempotent; those that may hang in the kernel are run in a disposable process, so
they take and give plain data only."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from actors.shared.linux import mountinfo, mounting
from actors.shared.linux.beneath import path_of
from actors.shared.linux.directories import make_path

_DIRECTORY_MODE: Final = 0o750
_HUGE_PAGE_SIZES: Final = "/sys/kernel/mm/hugepages"
_CHECKS: Final = {
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "Directory": (stat.S_ISDIR, "a directory"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def make_directory(path: str, mode: int, group: int | None) -> None:
    """A directory that is either not there or complete: made aside, then renamed. Raises OSError."""
    if os.path.isdir(path):
        return
    above, name = os.path.split(path)
    make_path(above, _DIRECTORY_MODE)
    aside = f"{above}/.{name}.new"  # no volume has a name that begins with a dot
    os.makedirs(aside, 0o700, exist_ok=True)
    if group is not None:
        os.chown(aside, -1, group)
        mode |= stat.S_ISGID
    os.chmod(aside, mode)
    os.rename(aside, path)


def mount_memory(path: str, size: int, group: int | None) -> bool:
    """tmpfs for an emptyDir, never swapped where the kernel can promise that (6.4). Whether it can. Raises OSError."""
    if (mounted := _mounted(path, "tmpfs")) is not None:
        return "noswap" in mounted.super_options
    options = ["mode=0777"] if group is None else ["mode=2777", f"gid={group}"]
    options += [f"size={size}"] if size > 0 else []
    make_path(path, _DIRECTORY_MODE)
    try:
        mounting.mount("tmpfs", path, "tmpfs", options=",".join([*options, "noswap"]))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        mounting.mount("tmpfs", path, "tmpfs", options=",".join(options))
        return False
    return True


def mount_huge_pages(path: str, page_size: int, group: int | None) -> bool:
    """hugetlbfs for an emptyDir. Always True: huge pages are never swapped. Raises OSError."""
    if not os.path.isdir(f"{_HUGE_PAGE_SIZES}/hugepages-{page_size // 1024}kB"):
        raise OSError(errno.EINVAL, f"this node has no huge pages of {page_size} bytes", path)
    if _mounted(path, "hugetlbfs") is None:
        options = "mode=0777" if group is None else f"mode=2777,gid={group}"
        make_path(path, _DIRECTORY_MODE)
        mounting.mount("nodev", path, "hugetlbfs", options=f"{options},pagesize={page_size}")
    return True


def check_host_path(path: str, type: str) -> str:
    """Check, or make, what a hostPath says it is: by its file descriptor, so that the check holds for one object.

    '' when it is right, else why not. Raises OSError for what cannot be looked at.
    """
    if type == "DirectoryOrCreate":
        make_path(path, 0o755)
    elif type == "FileOrCreate":
        _make_file(path)
    check, wanted = _CHECKS[type]
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return f"hostPath type check failed: {path} does not exist"
    try:
        return "" if check(os.fstat(fd).st_mode) else f"hostPath type check failed: {path} is not {wanted}"
    finally:
        os.close(fd)


def is_shared(path: str) -> bool:
    """Whether mounts made below this directory propagate."""
    below = mountinfo.covering(mountinfo.read(), os.path.realpath(path))
    return below is not None and below.shared


def make_shared(path: str) -> bool:
    """Let mounts below this directory propagate to whoever shares its mount. Whether a bind mount was made for it.

    Raises OSError (EPERM without CAP_SYS_ADMIN).
    """
    path = os.path.realpath(path)
    table = mountinfo.read()
    on = mountinfo.covering(table, path)
    if on is not None and on.shared:
        return False
    made = on is None or on.point != path
    if made:
        _bind_to_itself(path, [mount.point for mount in mountinfo.below(table, path)])
    mounting.make_shared(path)
    return made


def _bind_to_itself(path: str, points: list[str]) -> None:
    """With what is mounted below. The originals, which would lie hidden beneath and keep their directories from being
    removed for ever, are detached: only by a file descriptor opened before can they still be named."""
    originals = [os.open(point, os.O_PATH | os.O_CLOEXEC) for point in points]
    try:
        mounting.bind(path, path)
        for fd in originals:
            mounting.umount(path_of(fd), mounting.MNT_DETACH)
    finally:
        for fd in originals:
            os.close(fd)


def swap_is_on(proc: str = "/proc") -> bool:
    """Whether pages of this node may be written to a disk."""
    try:
        return len(Path(proc, "swaps").read_text("utf-8").splitlines()) > 1
    except OSError:
        return False


def same_file(fd: int, path: str) -> bool:
    """Whether the path means the file that is open."""
    there, here = os.stat(path), os.fstat(fd)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def bind_open(fd: int, target: str) -> None:
    """Bind an open file or directory to `target`, and prove that it is what was bound. Raises OSError."""
    mounting.bind(path_of(fd), target)
    if not same_file(fd, target):
        mounting.umount(target)
        raise OSError(errno.ESTALE, "something else was mounted than was opened", target)


def _mounted(path: str, kind: str) -> mountinfo.Mount | None:
    real = os.path.realpath(path)
    return next((mount for mount in mountinfo.read() if mount.point == real and mount.kind == kind), None)


def _make_file(path: str) -> None:
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return
    try:
        os.fchmod(fd, 0o644)
    finally:
        os.close(fd)
