"""Whether another user can change or replace what is at a path, as sshd asks of its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import accumulate
from pathlib import PurePath
from typing import Final

_ROOT: Final = 0


def foreign_part(path: str) -> str:
    """The first part of the path that belongs to another user than root and this process's, to which anybody may write,
    or in which anybody may replace a file, with that reason; '' if there is none. Parts that do not exist yet are
    nobody's, and links count with what they lead to. Raises OSError."""
    given, real = os.path.abspath(path), os.path.realpath(path)
    return next((text for part in dict.fromkeys((*_parts(given), *_parts(real))) if (text := _reason(part, real))), "")


def _parts(path: str) -> Iterator[str]:
    return accumulate(PurePath(path).parts, os.path.join)


def _reason(part: str, end: str) -> str:
    try:
        about = os.lstat(part)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if about.st_uid not in (_ROOT, os.geteuid()):
        return f"{part} belongs to uid {about.st_uid}"
    if stat.S_ISREG(about.st_mode) and about.st_mode & stat.S_IWOTH:
        return f"anybody may write to {part}"
    anybody = stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
    # the mode of the directory itself is its user's to mend
    return f"anybody may replace files in {part}" if anybody and part != end else ""
