"""Refuses programs whose name is longer than any path. Pure.

runc puts the name into the text of its error. Of one that fills a pipe (64 KiB) it waits for a reader that the shim of
containerd 1.6 starts only later, so that the shim ends no container of this pod any more: a user who may run commands
in a pod would keep it from ending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .errors import RuntimeFailure

MAX_BYTES: Final = 4095
"""PATH_MAX of Linux, without the zero at the end."""


def check_program(method: str, command: Sequence[str]) -> None:
    """Raises RuntimeFailure, as a runtime does that finds no such program. `method` of the CRI."""
    size = len(command[0].encode(errors="replace")) if command else 0
    if size > MAX_BYTES:
        text = f"exec: {command[0][:40]!r}...: the name of the program has {size} bytes: file name too long"
        raise RuntimeFailure(method, "UNKNOWN", text)
