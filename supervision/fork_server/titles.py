"""Process titles: `ps`, `top` and `systemctl status` show the actor's name.

Linux shows the bytes of the argument area of a process as its command line. They are written in place; a title that is
longer than the command line of the fork server is cut at its end.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from .. import process_stat

_PR_SET_NAME = 15
_ARG_START, _ARG_END = 45, 46
"""Places in /proc/PID/stat after the name (proc(5): fields 48, 49)."""
_prctl = ctypes.CDLL(None, use_errno=True).prctl


@dataclass
class _Area:
    """The address of the argument area; empty until `prepare` is called."""

    start: int = 0
    end: int = 0
    prefix: str = ""


_area = _Area()


def prepare(prefix: str) -> None:
    """In the fork server: find the argument area, which is the same in every child. `prefix`: the application."""
    _area.prefix = prefix
    fields = process_stat.fields(os.getpid())
    _area.start, _area.end = int(fields[_ARG_START]), int(fields[_ARG_END])


def set_title(title: str) -> None:
    """In a child: 15 bytes for its name, `PREFIX: TITLE` for its command line."""
    _prctl(_PR_SET_NAME, title.encode()[-15:], 0, 0, 0)
    size = _area.end - _area.start - 1
    if size > 0:
        text = f"{_area.prefix}: {title}".encode()
        ctypes.memmove(_area.start, text[:size].ljust(size, b"\0"), size)
