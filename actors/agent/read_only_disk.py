"""A file system that takes no writes, and what mends it: `status` and `doctor` say the same of it."""

from __future__ import annotations

import os
import shlex
from typing import Final, NamedTuple

from actors.shared.linux import mountinfo
from actors.shared.linux.directories import nearest_directory
from actors.shared.linux.mountinfo import Mount, MountInfoError

_SHUT_DOWN: Final = {
    "emergency_ro": "is read-only since an error",
    "shutdown": "is shut down",
}
"""Options of a file system in the mount table since Linux 6.14 (fs/ext4/super.c)."""


class ReadOnly(NamedTuple):
    """Why a file system takes no writes."""

    text: str
    remedy: str


def is_read_only(path: str) -> bool:
    """Whether the file system of the path, or of its nearest ancestor that is a directory, is read-only."""
    return bool(os.statvfs(nearest_directory(path)).f_flag & os.ST_RDONLY)


def read_only(path: str, proc: str = "/proc") -> ReadOnly | None:
    """What is wrong with the file system of the path, or of the nearest directory above it; None: it takes writes.
    Raises OSError."""
    place = nearest_directory(path)
    return read_only_mount(place, mount_of(place, proc), os.statvfs(place).f_flag)


def read_only_mount(place: str, mount: Mount | None, flags: int) -> ReadOnly | None:
    """The same of a directory that is there. `mount`: as of mount_of; `flags`: as of statvfs(3). Pure."""
    if flags & os.ST_RDONLY:
        bound = "bind," if mount is not None and "ro" not in mount.super_options else ""
        top = shlex.quote(mount.point if mount is not None else place)
        return ReadOnly(f"{place} is mounted read-only", f"mount -o remount,{bound}rw {top}")
    if wrong := _shut_down(mount):
        return ReadOnly(f"{place}: {wrong}", "dmesg | tail; check the file system (fsck), and mount it again")
    return None


def mount_of(place: str, proc: str) -> Mount | None:
    """The mount that the path is on; None: not known."""
    try:
        return mountinfo.mount_at(mountinfo.read(proc), os.path.realpath(place))
    except (OSError, MountInfoError):
        return None


def _shut_down(mount: Mount | None) -> str:
    """Why the kernel has stopped all writes to the file system; '' if it has not. Newer kernels still list such a mount
    as `rw`."""
    for option, text in _SHUT_DOWN.items():
        if mount is not None and option in mount.super_options:
            return f"the file system of {mount.source} {text}"
    return ""
