"""Room for the threads of gRPC's library, looked for before its first channel or server in a process.

The library starts them by itself. Where the host, or the agent's cgroup, allows no more of them, it crashes, blocks the
process, or answers no call again, not even at its deadline (measured on 1.85.1).
"""

from __future__ import annotations

import errno
from functools import cache

from supervision.thread_shortage import lacks_threads


@cache  # an error is not kept
def ensure_threads() -> None:
    """Raises OSError when there is no room for the library's threads. Later calls cost nothing."""
    if lacks_threads():
        raise OSError(errno.EAGAIN, "the host has no room for more threads")
