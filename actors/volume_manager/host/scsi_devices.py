"""Disks of the SCSI subsystem in sysfs, and the multipath devices above them. Runs in disposable processes: a disk
whose target is away may not answer."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from glob import escape, glob
from pathlib import Path

from .mount_program import run

_SECONDS = 60.0


def real_name(link: str) -> str:
    """The name of the device that a link leads to, as `sda`; '' if there is none."""
    real = os.path.realpath(link)
    return os.path.basename(real) if os.path.exists(real) else ""


def multipath_of(name: str, sysfs: str = "/sys") -> str:
    """The name of the multipath device above a disk, as `dm-0`; '' if there is none."""
    for path in sorted(glob(f"{sysfs}/block/dm-*/slaves/{escape(name)}")):
        return path.split("/")[-3]
    return ""


def disks_below(name: str, sysfs: str = "/sys") -> list[str]:
    """The names of the disks of a multipath device."""
    with suppress(OSError):
        return sorted(os.listdir(f"{sysfs}/block/{name}/slaves"))
    return []


def flush_multipath(name: str) -> str:
    """Remove the map of a multipath device. '' or the error's text."""
    status, output = run(["multipath", "-f", f"/dev/{name}"], _SECONDS)
    return "" if status == 0 else f"failed to flush multipath device /dev/{name}: {output}"


def flush_buffers(name: str) -> None:
    """Write what the kernel has of a disk; whether the disk takes it does not keep it from being removed."""
    run(["blockdev", "--flushbufs", f"/dev/{name}"], _SECONDS)


def is_busy(name: str, dev: str = "/dev") -> bool:
    """Whether the disk is mounted, in whichever mount table, or a program or another device has it for itself. A disk
    that does not answer is not busy."""
    try:
        os.close(os.open(f"{dev}/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_EXCL))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def remove(name: str, sysfs: str = "/sys") -> None:
    """Take a disk out of the SCSI subsystem, unless it is gone. Raises OSError."""
    with suppress(FileNotFoundError):
        write(f"{sysfs}/block/{name}/device/delete", "1")


def write(path: str, text: str) -> None:
    """Write to a file of sysfs, which is never made. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def read(path: str) -> str:
    """A file of sysfs without white space around it; '' if it cannot be read, as when its device is going away."""
    try:
        return Path(path).read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
