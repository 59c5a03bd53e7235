"""Runs the application's last step in a separate process, because it may hang."""

from __future__ import annotations

import logging
import os
import select
import signal
from collections.abc import Iterable
from typing import Any, Final

from ..class_names import load
from ..protocol import FORK_SERVER
from ..time_scale import scaled
from .fork import fork

SECONDS: Final = 5.0
log = logging.getLogger(FORK_SERVER)


def run(function: str, context: Any, private_fds: Iterable[int], seconds: float = SECONDS) -> None:
    """Call `module:function` with the context; return when it has ended or was killed at its deadline. '': do
    nothing."""
    if not function:
        return

    def body() -> None:
        load(function)(context)
        os._exit(0)

    try:
        pid = fork("at_end", body, private_fds)
        pidfd = os.pidfd_open(pid)
    except OSError as error:
        log.error("%s is not called: %s", function, error)
        return
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(1000 * scaled(seconds)):
        log.error("%s did not end within %.0f s", function, scaled(seconds))
        os.kill(pid, signal.SIGKILL)
    os.close(pidfd)
