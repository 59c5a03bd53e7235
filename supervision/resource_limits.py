"""Limits of the kernel on a process (getrlimit(2)) that fail its work: files that it may have open, size of a file."""

from __future__ import annotations

import errno
import os
import resource
from typing import Final, NamedTuple

FILE_SIZE_REMEDY: Final = "start the agent without this limit: LimitFSIZE of its unit, or ulimit -f unlimited"


class OpenFiles(NamedTuple):
    """The files that a process has open, and may have open."""

    opened: int
    most: int


def open_files(pid: int) -> OpenFiles | None:
    """Of a process; None: it has ended, or is another user's."""
    try:
        return OpenFiles(len(os.listdir(f"/proc/{pid}/fd")), resource.prlimit(pid, resource.RLIMIT_NOFILE)[0])
    except OSError:
        return None


def allow_open_files(wanted: int) -> None:
    """Let this process have that many files open, or as many as its hard limit allows; it never lowers the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most_open_files(wanted)), hard))


def most_open_files(wanted: int) -> int:
    """That many, or as many as the hard limit of this process allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def file_size() -> int | None:
    """The size in bytes beyond which this process may write no file; None: there is no limit."""
    soft = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def is_of_file_size(error: OSError) -> bool:
    """Whether a write has failed by that limit. The kernel's word for it is the same as for the largest file of a file
    system."""
    return (error.errno, error.strerror) == (errno.EFBIG, os.strerror(errno.EFBIG)) and file_size() is not None
