"""A directory as any container can make it in a volume: deeper than the kernel takes paths, and Python calls."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LEVELS: Final = 3000


def make_deep(top: Path) -> None:
    """Below `top`, which is made."""
    top.mkdir(parents=True)
    place = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=place)
        deeper = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = deeper
    os.close(place)
