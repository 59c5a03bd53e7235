"""Commands that end with who started them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence


def tied(command: Sequence[str]) -> list[str]:
    """The command as one that the system kills when the thread that starts it ends, by util-linux's setpriv(1); without
    that, the command as it is.

    Not by a preexec_fn: for one, Popen forks in place of vfork(2), and runs the fork handlers of libraries. gRPC's
    waits for its threads, and has been seen to wait for ever.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv else [*command]
