"""Replaces symbolic links atomically."""

from __future__ import annotations

import os


def replace_link(path: str, target: str, temporary_name: str) -> None:
    """Create or replace the link at `path` to `target`, by rename. `temporary_name`: its name until then, in the same
    directory. Raises OSError."""
    temporary = f"{os.path.dirname(path)}/{temporary_name}"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    os.symlink(target, temporary)
    os.replace(temporary, path)
