"""Commands that end with who started them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Final

_ONLY_IF_OURS: Final = '[ "$PPID" = "$0" ] && exec "$@"'
"""The starter may have ended before the command was tied to it."""


def tied(command: Sequence[str]) -> list[str]:
    """The command as one that this process starts, and that the system kills when the thread that does ends: by
    util-linux's setpriv(1). Without that, the command as it is.

    Not by a preexec_fn: for one, Popen forks in place of vfork(2), and runs the fork handlers of libraries. gRPC's
    waits for its threads, and has been seen to wait for ever.
    """
    setpriv, shell = shutil.which("setpriv"), shutil.which("sh")
    if setpriv is None or shell is None:
        return [*command]
    return [setpriv, "--pdeathsig", "KILL", "--", shell, "-c", _ONLY_IF_OURS, str(os.getpid()), *command]
