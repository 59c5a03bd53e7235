"""The error of a start with an unusable state file, in the kubelet's words, and what to do."""

from __future__ import annotations

import os
from typing import NamedTuple

from supervision.errors import error_reason
from supervision.state_file import NotAFileError


class DamagedStateError(Exception):
    """A state file cannot be used. `damaged`: its path if it is to be deleted; '' if it may be valid."""

    def __init__(self, text: str, damaged: str = "") -> None:
        super().__init__(text)
        self.damaged = damaged


class Restoration(NamedTuple):
    """Why a state cannot be restored."""

    text: str
    damaged: str
    """The path of the file that is to be deleted; '' for a file that may be valid."""


def restore_error(path: str | os.PathLike[str], error: Exception, file: str) -> Restoration:
    """`file`: the kubelet's name of the file, such as `the CPU manager checkpoint file`.

    It advises the operator to delete a damaged file, but not an unreadable one, which may be valid."""
    prefix = "could not restore state from checkpoint"
    if isinstance(error, OSError) and not isinstance(error, NotAFileError):
        return Restoration(f"{prefix}: {path}: {error_reason(error)}", "")
    why = error_reason(error)
    text = f'{prefix}: {why}, please drain this node and delete {file} "{path}" before restarting Kubelet'
    return Restoration(text, os.fspath(path))
