"""Links of devices in a pod's directory, on the agent's own file system."""

from __future__ import annotations

import os

from actors.shared.linux.directories import make_path

from .directories import DIRECTORY_MODE


def replace_link(path: str, target: str) -> None:
    """Make the link at `path`, or have it point to `target`, by rename. Raises OSError."""
    if os.path.islink(path) and os.readlink(path) == target:
        return
    above, name = os.path.split(path)
    make_path(above, DIRECTORY_MODE)
    aside = f"{above}/.{name}.new"  # no volume has a name that begins with a dot
    if os.path.lexists(aside):
        os.unlink(aside)
    os.symlink(target, aside)
    os.replace(aside, path)
