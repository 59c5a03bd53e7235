"""The error of a start with an unusable state file, in the kubelet's words, and what to do."""

from __future__ import annotations

import os

from supervision.errors import error_reason
from supervision.state_file import NotAFileError


def restore_error(path: str | os.PathLike[str], error: Exception, file: str) -> str:
    """The error text. `file`: the kubelet's name of the file, such as `the CPU manager checkpoint file`.

    It advises the operator to delete a damaged file, but not an unreadable one, which may be valid."""
    prefix = "could not restore state from checkpoint"
    if isinstance(error, OSError) and not isinstance(error, NotAFileError):
        return f"{prefix}: {path}: {error_reason(error)}"
    why = error_reason(error)
    return f'{prefix}: {why}, please drain this node and delete {file} "{path}" before restarting Kubelet'
