"""Temporary files of atomic writes: their names, and those that a killed writer left."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"\..+\.(?P<pid>\d+)\.unfinished", re.DOTALL)
_DIRECTORIES: Final = 64
"""So many directories are remembered as searched: an agent writes to few of its own, and to some of each pod."""


def temporary_name(path: Path) -> str:
    """The path to which this process writes what becomes `path`, in the same directory. Each process has its own: two
    incarnations of an actor may write at once."""
    return f"{path.parent}/.{path.name}.{os.getpid()}.unfinished"


def unfinished_files(directory: str) -> list[str]:
    """The paths of the temporary files in a directory; none if it cannot be read."""
    with suppress(OSError):
        return sorted(f"{directory}/{name}" for name in os.listdir(directory) if _NAME.fullmatch(name))
    return []


@lru_cache(maxsize=_DIRECTORIES)
def remove_unfinished(directory: str) -> None:
    """Remove the temporary files of processes that are gone, once in this process: what a killed actor left goes when
    its successor writes for the first time."""
    for path in unfinished_files(directory):
        found = _NAME.fullmatch(os.path.basename(path))
        if found and not os.path.exists(f"/proc/{found['pid']}"):
            with suppress(OSError):  # it costs a little space only
                os.unlink(path)
