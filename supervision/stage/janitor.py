"""Leaves nothing behind when the stage is killed: a process that waits for that, removes the sockets, lets the lock go.

It does nothing else, so nothing else ends it. It holds the stage's lock, so a new agent on the same directory begins
when the old one's traces are gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

from .fork import STOP_SIGNALS, set_title

_CHILDREN_SECONDS = 1.0


class Janitor:
    """The stage's side."""

    def __init__(self, clean: Callable[[], None]) -> None:
        """Fork it. `clean` runs in it, once the stage is gone."""
        stage = os.getpid()
        reader, self.fd = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            _wait_and_clean(reader, stage, clean)
        os.close(reader)

    def dismiss(self) -> None:
        """The stage cleans up by itself."""
        # it may have been killed, and reaped with the rest
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def _wait_and_clean(reader: int, stage: int, clean: Callable[[], None]) -> None:
    try:
        os.setsid()
        set_title("janitor")
        for number in (*STOP_SIGNALS, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        os.read(reader, 1)
        end = time.monotonic() + _CHILDREN_SECONDS
        # the system kills the actors with the stage; they may need a moment
        while os.path.exists(f"/proc/{stage}") and time.monotonic() < end:
            time.sleep(0.005)
        clean()
    finally:
        os._exit(0)
