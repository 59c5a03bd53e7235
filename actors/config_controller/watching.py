"""The directories in which a change of the configuration shows.

Directories are watched rather than files, as editors and ConfigMap mounts replace files by rename.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

MAX_LINKS = 40
"""As the kernel has it."""


def _way_to(path: str) -> list[str]:
    """The directories in which a symbolic link stands on the way to a file, and at last its own.

    A ConfigMap's mount is swapped by one rename of such a link.
    """
    found: list[str] = []
    at, rest, links = "/", path.split("/"), 0
    while rest:
        part = rest.pop(0)
        if part in ("", "."):
            continue
        here = os.path.join(at, part) if part != ".." else os.path.dirname(at)
        if links < MAX_LINKS and os.path.islink(here):
            found.append(at)
            links += 1
            target = os.readlink(here)
            at, rest = "/" if target.startswith("/") else at, [*target.split("/"), *rest]
        else:
            at = here
    return [*found, os.path.dirname(path), os.path.dirname(at)]


def directories_of(files: Iterable[str], trees: Iterable[str]) -> list[str]:
    """The directories of the files and of the links on the way to them, and the trees with all that is in them."""
    found = {directory for path in files if path for directory in _way_to(path)}
    for tree in filter(None, trees):
        found |= {tree, *_way_to(tree)[:-1]}
        found.update(str(path) for path in Path(tree).rglob("*") if path.is_dir() and not path.is_symlink())
    return sorted(found)
