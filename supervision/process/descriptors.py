"""Detects that this process has nearly run out of file descriptors, for example by a leak. Its sends and reads then
fail, but its heartbeat continues. The next incarnation starts without the leaked descriptors."""

from __future__ import annotations

import errno
import os
import re
import resource
from collections import Counter
from typing import Final

from ..time_scale import scaled

PATIENCE_SECONDS: Final = 10.0
"""How long descriptors may be short before the process ends: a burst of clients or of files passes."""
NEEDED: Final = 8
"""The number that must be free. With fewer, an actor that opens several at once, as for nested directories, always
fails."""
_MOST_LOOKED_AT: Final = 4096
_MOST_NAMED: Final = 3
_TOO_FEW: Final = f"fewer than {NEEDED} file descriptors have been free"
_NUMBER = re.compile(r":?\[\d+\]")


class Descriptors:
    """Checks the descriptors of this process with each heartbeat."""

    def __init__(self) -> None:
        self._none_since: float | None = None

    def exhausted(self, now: float) -> OSError | None:
        """The error with which the process must end, once too few have been free for PATIENCE_SECONDS; else None.
        `now`: CLOCK_MONOTONIC seconds. When the whole system has none left (ENFILE), it does not end: another process
        would have none either."""
        if not _lacks():
            self._none_since = None
            return None
        if self._none_since is None:
            self._none_since = now
        if now - self._none_since < scaled(PATIENCE_SECONDS):
            return None
        return OSError(errno.EMFILE, f"{_TOO_FEW} for {now - self._none_since:.0f} s: {_open()}")


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
    """The open descriptors, the most frequent kinds first, as text. Opens none itself."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    kinds: Counter[str] = Counter()
    for number in range(_MOST_LOOKED_AT):
        try:
            kinds[_NUMBER.sub("", os.readlink(f"/proc/self/fd/{number}"))] += 1
        except OSError:
            continue
    most = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_NAMED))
    return f"{kinds.total()} are open, the limit is {limit}; the most: {most}"
