"""Volumes in memory: tmpfs and hugetlbfs."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from actors.shared.linux import huge_page_pools, mount_calls, mountinfo
from actors.shared.linux.directories import make_path

_DIRECTORY_MODE: Final = 0o750


def mount_memory(path: str, size: int, group: int | None) -> bool:
    """Mount a tmpfs, with noswap where the kernel has that option (6.4). Returns whether it has. Raises OSError."""
    if (there := mounted(path, "tmpfs")) is not None:
        return "noswap" in there.super_options
    # sticky, like a tmpfs without the option: all users may write, but remove only their own files
    options = ["mode=1777"] if group is None else ["mode=3777", f"gid={group}"]
    options += [f"size={size}"] if size > 0 else []
    make_path(path, _DIRECTORY_MODE)
    try:
        mount_calls.mount("tmpfs", path, "tmpfs", options=",".join([*options, "noswap"]))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        mount_calls.mount("tmpfs", path, "tmpfs", options=",".join(options))
        return False
    return True


def mount_huge_pages(path: str, page_size: int, group: int | None) -> bool:
    """Mount a hugetlbfs. Returns True: huge pages are never swapped. Raises OSError."""
    if page_size not in huge_page_pools.page_sizes(huge_page_pools.SYSTEM_POOLS):
        raise OSError(errno.EINVAL, f"this node has no huge pages of {page_size} bytes", path)
    if mounted(path, "hugetlbfs") is None:
        options = "mode=0777" if group is None else f"mode=2777,gid={group}"
        make_path(path, _DIRECTORY_MODE)
        mount_calls.mount("nodev", path, "hugetlbfs", options=f"{options},pagesize={page_size}")
    return True


def swap_is_on(proc: str = "/proc") -> bool:
    """Whether pages of this node may be written to a disk."""
    try:
        return len(Path(proc, "swaps").read_text("utf-8").splitlines()) > 1
    except OSError:
        return False


def mounted(path: str, kind: str) -> mountinfo.Mount | None:
    """Whether something is mounted, by the mount table; does not access the path itself."""
    return next((mount for mount in mountinfo.at(os.path.realpath(path)) if mount.kind == kind), None)
