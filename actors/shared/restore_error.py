"""Why the agent cannot go on from a file of the node's state, in the kubelet's words, and what to do."""

from __future__ import annotations

import os

from supervision.errors import error_reason
from supervision.state_file import NotAFileError


def restore_error(path: str | os.PathLike[str], error: Exception, file: str) -> str:
    """The error of a start. `file`: what the kubelet calls the file, as in `the CPU manager checkpoint file`.

    The operator is told to delete a damaged file, but not one that cannot be read now: it may be right."""
    prefix = "could not restore state from checkpoint"
    if isinstance(error, OSError) and not isinstance(error, NotAFileError):
        return f"{prefix}: {path}: {error_reason(error)}"
    why = error_reason(error)
    return f'{prefix}: {why}, please drain this node and delete {file} "{path}" before restarting Kubelet'
