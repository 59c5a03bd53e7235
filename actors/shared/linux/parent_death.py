"""Commands that end together with their parent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Final

_UNLESS_ORPHANED: Final = '[ "$PPID" = "$0" ] && exec "$@"'
"""Covers a parent that ended before the command was tied to it."""


def ends_with_parent(command: Sequence[str]) -> list[str]:
    """Wrap the command with util-linux's setpriv(1), so that the kernel kills it when the thread that started it ends.
    Without setpriv the command is unchanged.

    A preexec_fn is not used: with it Popen uses fork(2) instead of vfork(2) and runs the fork handlers of libraries.
    gRPC's handler waits for its threads and has been seen to hang.
    """
    setpriv, shell = shutil.which("setpriv"), shutil.which("sh")
    if setpriv is None or shell is None:
        return [*command]
    return [setpriv, "--pdeathsig", "KILL", "--", shell, "-c", _UNLESS_ORPHANED, str(os.getpid()), *command]
