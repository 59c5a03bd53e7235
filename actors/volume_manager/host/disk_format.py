"""A file system on a block device: formatted when the device is empty, checked, mounted. Runs in a disposable process.

A program that works on the device holds the device's lock (flock(2)), which outlives the process that started it. So
the next attempt waits for a mkfs whose agent was killed, and then finds its file system.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from typing import Final

from actors.shared.linux import mountinfo
from actors.shared.linux.directories import make_path

from .mount_program import PROGRAM, STILL_RUNNING, error_of, mount_error, run

DEFAULT_TYPE: Final = "ext4"
_DIRECTORY_MODE: Final = 0o750
_OPTIONS: Final = {"ext3": ["-F", "-m0"], "ext4": ["-F", "-m0"], "xfs": ["-f"]}
"""Options of mkfs by file system type; other types have none."""
_PARTITIONED: Final = "unknown data, probably partitions"
_NOTHING_FOUND: Final = 2
"""Exit status of blkid(8)."""
_NOT_CORRECTED: Final = 4
"""Exit status of fsck(8)."""
_READ_BYTES: Final = 1 << 20
"""Bytes that are read at each end of a device, where most superblocks are."""


def mount_device(device: str, target: str, kind: str, options: list[str], seconds: float) -> str:
    """Mount the device, unless something is mounted at `target`. Returns '' or the error; after an error no directory
    is left. `kind`: the type of file system; '': the file system on the device, or ext4. `seconds`: the time limit of
    each program. Raises OSError.
    """
    real = os.path.realpath(target)
    if mountinfo.at(real):
        return ""
    fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISBLK(os.fstat(fd).st_mode):
            raise OSError(errno.ENOTBLK, os.strerror(errno.ENOTBLK), device)
        fcntl.flock(fd, fcntl.LOCK_EX)
        kind, error = _prepare(device, kind, "ro" in options, fd, seconds)
    finally:
        os.close(fd)
    if error:
        return error
    make_path(target, _DIRECTORY_MODE)
    error = mount_error([PROGRAM, "-t", kind, "-o", ",".join([*options, "defaults"]), device, target], seconds)
    if error:
        with suppress(OSError):  # it has a record of the disk
            os.rmdir(target)
    return error


def _prepare(device: str, wanted: str, read_only: bool, fd: int, seconds: float) -> tuple[str, str]:
    """The file system type to mount, and '' or the error. Raises OSError when the device cannot be read."""
    found = format_of(device, seconds)
    if not found:
        if read_only:
            return "", f"cannot mount unformatted disk {device} as we are manipulating it in read-only mode"
        kind = wanted or DEFAULT_TYPE
        check_free(device, fd)
        return kind, _format(device, kind, fd, seconds)
    if not read_only and found != _PARTITIONED:
        status, output = run(["fsck", "-a", device], seconds, (fd,))
        if status == _NOT_CORRECTED:
            return "", f"'fsck' found errors on device {device} but could not correct them: {output}"
        if status == STILL_RUNNING:
            return "", f"'fsck' of device {device} has not ended: {output}"
    return wanted or (DEFAULT_TYPE if found == _PARTITIONED else found), ""


def check_free(device: str, fd: int) -> None:
    """Raises OSError when the device, open at `fd`, cannot be read, or is in use: mounted, or part of another device.
    blkid finds nothing on such devices, either.
    """
    for start in (0, max(0, os.lseek(fd, 0, os.SEEK_END) - _READ_BYTES)):
        os.pread(fd, _READ_BYTES, start)
    os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_EXCL))


def _format(device: str, kind: str, fd: int, seconds: float) -> str:
    program = f"mkfs.{kind}"
    error = error_of(*run([program, *_OPTIONS.get(kind, []), device], seconds, (fd,)))
    return f"format of disk {device} failed: type:({kind!r}) target:({program}) errcode:({error})" if error else ""


def format_of(device: str, seconds: float) -> str:
    """The result of blkid: a file system type, _PARTITIONED, or '' for nothing. Raises OSError."""
    status, output = run(["blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device], seconds)
    if status == _NOTHING_FOUND and not output:
        return ""
    if status != 0:  # also with _NOTHING_FOUND, an output means that blkid could not read the device
        raise OSError(errno.EIO, f"blkid: {error_of(status, output)}", device)
    found = dict[str, str]()
    for line in output.splitlines():
        key, equals, value = line.partition("=")
        if not equals:
            raise OSError(errno.EIO, f"blkid returns invalid output: {output}", device)
        found[key] = value
    return found.get("TYPE", "") or (_PARTITIONED if "PTTYPE" in found else "")
