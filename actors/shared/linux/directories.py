"""Directories of a certain mode, those above them as well: os.makedirs leaves the mode of those to the umask."""

from __future__ import annotations

import os


def make_path(path: str, mode: int) -> None:
    """Make the directory and those above it that are missing, each with `mode`; one that is there stays as it is.

    Raises OSError; FileExistsError when something else is there.
    """
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above:
        make_path(above, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    os.chmod(path, mode)
