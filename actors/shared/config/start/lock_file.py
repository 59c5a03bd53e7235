"""--lock-file: only one agent holds it; with --exit-on-lock-contention the agent ends when another one opens it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable

from actors.shared.config.errors import ConfigErrors, ConfigProblem


def acquire(path: str, *, deadline: float | None = None, say: Callable[[str], None] = lambda text: None) -> int:
    """Take the lock and return its descriptor. Waits while another process holds it, as the kubelet does.

    Raises ConfigErrors when the file cannot be opened, or `deadline` (time.monotonic) has passed.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigErrors([ConfigProblem("--lock-file", path, f"cannot be opened: {error.strerror}")]) from None
    logged = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline is not None and time.monotonic() > deadline:
                os.close(descriptor)
                raise ConfigErrors([ConfigProblem("--lock-file", path, "another agent holds it")]) from None
            if not logged:
                say(f"waiting for {path}, which another agent holds")
                logged = True
            time.sleep(0.05)
        else:
            return descriptor
