"""Creates directories and missing parents with a given mode, as os.makedirs applies the umask to parents; finds the
nearest directory that exists; lists a directory that may be missing."""

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


def names_in(directory: str, *, hidden: bool = False) -> list[str]:
    """The names in the directory, sorted; none if there is no such directory. `hidden`: also those that begin with a
    dot. Raises OSError if it cannot be read."""
    try:
        return sorted(name for name in os.listdir(directory) if hidden or not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _make(path: str, mode: int) -> None:
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    os.chmod(path, mode)
