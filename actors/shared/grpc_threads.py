"""Threads for gRPC's library, tried out before its first channel or server in a process.

The library starts them by itself. Where the host, or the agent's cgroup, allows no more of them, it crashes, blocks the
process, or answers no call again, not even at its deadline (measured on 1.85.1).
"""

from __future__ import annotations

import errno
import threading
from functools import cache
from typing import Final

NEEDED: Final = 24
"""At most; seven on two cores."""


@cache  # an error is not kept
def ensure_threads() -> None:
    """Raises OSError when there is no room for the library's threads. Later calls cost nothing."""
    go, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(NEEDED):
            thread = threading.Thread(target=go.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        text = f"the host has no room for {NEEDED} more threads, which gRPC may need"
        raise OSError(errno.EAGAIN, text) from None
    finally:
        go.set()
        for thread in started:
            thread.join()
