"""Files and directories of one cgroup, on v1 and v2 alike."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterator
from typing import Final

from supervision.errors import error_reason

_BUSY: Final = {errno.EBUSY, errno.ENOTEMPTY}
_NONE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ESRCH, errno.EOPNOTSUPP}
"""The errors of a file cgroup.procs without processes: the cgroup was just removed, or is threaded."""


class CgroupError(OSError):
    """A cgroup could not be created or changed; `filename` is the file."""


def write(path: str, text: str) -> None:
    """Write a file that the kernel may lack. Raises CgroupError."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_TRUNC)
    except FileNotFoundError:
        if os.path.isdir(os.path.dirname(path)):
            return  # this kernel lacks the file
        raise CgroupError(errno.ENOENT, "the cgroup is gone", path) from None
    except OSError as error:
        raise cgroup_error(error, path) from None
    try:
        os.write(fd, text.encode("ascii"))
    except OSError as error:
        raise CgroupError(error.errno or errno.EIO, f"{error.strerror} writing {text!r}", path) from None
    finally:
        os.close(fd)


def subdirectories(path: str) -> list[str]:
    """The names of the cgroups directly below; none if it does not exist. Raises OSError."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def exists(path: str) -> bool:
    """Whether the cgroup exists. Raises CgroupError if that cannot be seen, as without free memory: it may have
    containers."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise cgroup_error(error, path) from None


def depth_first(path: str) -> Iterator[str]:
    """The directories below, then the directory itself; nothing if it does not exist. Raises OSError."""
    if not exists(path):
        return
    for name in subdirectories(path):
        yield from depth_first(f"{path}/{name}")
    yield path


def pids(file: str) -> list[int]:
    """The process ids in a file cgroup.procs or tasks; none if the cgroup does not exist. Raises CgroupError if they
    cannot be read, as without a free descriptor."""
    try:
        with open(file, "rb", buffering=0) as stream:
            return [int(line) for line in stream.readall().split()]
    except OSError as error:
        if error.errno in _NONE:
            return []
        raise cgroup_error(error, file) from None


def kill_at_once(path: str) -> bool:
    """Use cgroup.kill, which also covers concurrent forks (v2, Linux 5.14)."""
    try:
        fd = os.open(f"{path}/cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, b"1")
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def kill_member(pid: int, file: str) -> bool:
    """Kill by pidfd, and only if the process is still in the cgroup, because ids are reused."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if pid not in pids(file):
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


def remove(path: str) -> bool:
    """Remove one directory. False: it is in use. Raises CgroupError."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise cgroup_error(error, path) from None
    return True


def modified(path: str) -> float:
    """Seconds since 1970; 0: it does not exist."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def cgroup_error(error: OSError, path: str) -> CgroupError:
    """The error with the path of the cgroup or its file."""
    return CgroupError(error.errno or errno.EIO, error_reason(error), path)
