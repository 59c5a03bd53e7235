"""The directories to watch for changes of the configuration.

The controller watches directories instead of files, because editors and ConfigMap mounts replace files by rename.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

MAX_LINKS = 40
"""Symbolic links on one path; the kernel has the same limit."""


def _directories_on_path(path: str) -> list[str]:
    """The directory of each symbolic link on the path of a file, and the directory of the file.

    The kubelet updates a ConfigMap mount by one rename of such a link.
    """
    directories: list[str] = []
    at, rest, links = "/", path.split("/"), 0
    while rest:
        part = rest.pop(0)
        if part in ("", "."):
            continue
        here = os.path.join(at, part) if part != ".." else os.path.dirname(at)
        target = _target(here) if links < MAX_LINKS else ""
        if target:
            directories.append(at)
            links += 1
            at, rest = "/" if target.startswith("/") else at, [*target.split("/"), *rest]
        else:
            at = here
    return [*directories, os.path.dirname(path), os.path.dirname(at)]


def _target(path: str) -> str:
    """The target of a symbolic link; '' for another file, or if it was removed or replaced meanwhile."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _with_subdirectories(tree: str) -> list[str]:
    """Without those that are removed meanwhile: os.walk passes over them, where Path.rglob raises."""
    return [directory for directory, _, _ in os.walk(tree)]


def directories_of(files: Iterable[str], trees: Iterable[str]) -> list[str]:
    """The directories of the files and of the links on their paths, and the trees with all their subdirectories."""
    directories = {directory for path in files if path for directory in _directories_on_path(path)}
    for tree in filter(None, trees):
        directories |= {tree, *_directories_on_path(tree)[:-1], *_with_subdirectories(tree)}
    return sorted(directories)
