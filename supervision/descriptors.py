"""Finds out that this process can open hardly anything more, as one that leaks descriptors: its sends and reads fail
from then on, but its heartbeat goes on. Another incarnation begins with none of them."""

from __future__ import annotations

import errno
import os
import re
import resource
from collections import Counter
from typing import Final

from .time_scale import scaled

PATIENCE_SECONDS: Final = 10.0
"""A burst of clients or of files passes."""
NEEDED: Final = 8
"""So many must be free: with fewer, small things go on, and what opens a directory in a directory fails for ever."""
_MOST_LOOKED_AT: Final = 4096
_MOST_NAMED: Final = 3
_HARDLY_ANY: Final = f"fewer than {NEEDED} file descriptors have been free"
_NUMBER = re.compile(r":?\[\d+\]")


class Descriptors:
    """Asked with each heartbeat."""

    def __init__(self) -> None:
        self._none_since: float | None = None

    def exhausted(self, now: float) -> OSError | None:
        """The error for which to end, once too few have been free for long. `now`: CLOCK_MONOTONIC.

        When the whole system has no more (ENFILE), another process would have none either."""
        if not _lacks():
            self._none_since = None
            return None
        if self._none_since is None:
            self._none_since = now
        if now - self._none_since < scaled(PATIENCE_SECONDS):
            return None
        return OSError(errno.EMFILE, f"{_HARDLY_ANY} for {now - self._none_since:.0f} s: {_open()}")


def _lacks() -> bool:
    """Whether fewer than NEEDED are free."""
    taken: list[int] = []
    try:
        taken.append(os.open("/", os.O_PATH | os.O_CLOEXEC))
        while len(taken) < NEEDED:
            taken.append(os.dup(taken[0]))
    except OSError as error:
        return error.errno == errno.EMFILE
    finally:
        for each in taken:
            os.close(each)
    return False


def _open() -> str:
    """What is open: `900 of 1024: 850 socket, ...`. It opens nothing."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    kinds: Counter[str] = Counter()
    for number in range(_MOST_LOOKED_AT):
        try:
            kinds[_NUMBER.sub("", os.readlink(f"/proc/self/fd/{number}"))] += 1
        except OSError:
            continue
    most = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_NAMED))
    return f"{kinds.total()} are open, the limit is {limit}; the most: {most}"
