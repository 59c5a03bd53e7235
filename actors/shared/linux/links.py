"""Symbolic links that are there, old or new, at any moment."""

from __future__ import annotations

import os


def replace_link(path: str, target: str, aside: str) -> None:
    """Make the link at `path`, or have it point to `target`, by rename. `aside`: the name that it has before, in the
    same directory. Raises OSError."""
    temporary = f"{os.path.dirname(path)}/{aside}"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    os.symlink(target, temporary)
    os.replace(temporary, path)
