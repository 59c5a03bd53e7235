"""Whether something is at a path, for decisions that must not take what cannot be seen for absent."""

from __future__ import annotations

import os


def is_there(path: str) -> bool:
    """Whether anything is at the path, a link included. Unlike os.path.lexists, raises OSError if that cannot be seen,
    as on a disk with errors or without free memory."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_missing(path: str) -> bool:
    """Whether nothing is there, or a link that leads nowhere. What cannot be seen is not missing."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
