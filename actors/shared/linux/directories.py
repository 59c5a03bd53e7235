"""Creates directories and missing parents with a given mode, as os.makedirs applies the umask to parents; and finds
the nearest directory that exists."""

from __future__ import annotations

import os


def make_path(path: str, mode: int) -> None:
    """Create the directory and its missing parents with `mode`; existing ones stay unchanged.

    Raises OSError; FileExistsError if the path is not a directory.
    """
    missing: list[str] = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        _make(each, mode)


def nearest_directory(path: str) -> str:
    """The path if it is a directory, else its nearest ancestor that is one."""
    path = os.path.abspath(path)
    while not os.path.isdir(path) and path != "/":
        path = os.path.dirname(path)
    return path


def _make(path: str, mode: int) -> None:
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    os.chmod(path, mode)
