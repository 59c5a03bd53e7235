"""Whether another user can change or replace what is at a path, as sshd asks of its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Final

_ROOT: Final = 0
_ALL_USERS: Final = 2**32 - 1


def foreign_part(path: str) -> str:
    """The first part of the path that belongs to another user than root and this process's, to which anybody may write,
    or in which anybody may replace a file, with that reason; '' if there is none. Parts that do not exist yet do not
    count; of a symlink, its target counts, too. Raises OSError."""
    given, real = os.path.abspath(path), os.path.realpath(path)
    trusted = {_ROOT, os.geteuid(), *unknown_owner()}
    parts = dict.fromkeys((*_parts(given), *_parts(real)))
    return next((text for part in parts if (text := _reason(part, real, trusted))), "")


def unknown_owner(root: str = "") -> Iterator[int]:
    """In a user namespace (KubeletInUserNamespace), the UID shown for every user that is not mapped into it, such as
    the owner of `/`; nothing elsewhere. `root`: the directory with `proc`."""
    try:
        ranges = Path(f"{root}/proc/self/uid_map").read_text("ascii").splitlines()
        if sum(int(line.split()[2]) for line in ranges) < _ALL_USERS:
            yield int(Path(f"{root}/proc/sys/kernel/overflowuid").read_text("ascii"))
    except (OSError, ValueError, IndexError):
        return


def _parts(path: str) -> Iterator[str]:
    return accumulate(PurePath(path).parts, os.path.join)


def _reason(part: str, end: str, trusted: Collection[int]) -> str:
    try:
        about = os.lstat(part)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if about.st_uid not in trusted:
        return f"{part} belongs to uid {about.st_uid}"
    if stat.S_ISREG(about.st_mode) and about.st_mode & stat.S_IWOTH:
        return f"anybody may write to {part}"
    anybody = stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
    # the mode of the directory itself is its user's to mend
    return f"anybody may replace files in {part}" if anybody and part != end else ""
