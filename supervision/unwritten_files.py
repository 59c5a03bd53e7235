"""The files that this process could not write at its last try, for `supervise status`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from .errors import error_reason
from .resource_limits import FILE_SIZE_REMEDY, is_of_file_size
from .unfinished_files import temporary_name

SERVICE: Final = "files"
"""What `supervise status` calls them."""
REMEDY: Final = "df -h and df -i of these paths; dmesg | tail: free the disk or mend it, the agent writes them again"
_MOST_NAMED: Final = 3
_TRIAL_SECONDS: Final = 10.0
"""So long after a failure its directory is tried."""
_TRIAL_BYTES: Final = 4096
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class _Failure(msgspec.Struct, frozen=True):
    reason: str
    since: float
    """CLOCK_MONOTONIC seconds of the first failure in a row."""
    at: float
    """CLOCK_MONOTONIC seconds of the last failure."""
    in_directory: bool
    """Its directory was there."""
    by_limit: bool
    """A limit of this process is the reason, and no disk."""


class UnwrittenFiles:
    """Each is here from a failed write until one succeeds, a trial of its directory does, or its directory, such as a
    pod's, is removed. The trial is for files that are written on a change only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}

    def failed(self, path: Path | str, error: OSError) -> None:
        before, now = self._failures.get(str(path)), self._clock()
        since = now if before is None else before.since
        self._failures[str(path)] = _Failure(
            reason=error_reason(error),
            since=since,
            at=now,
            in_directory=os.path.isdir(os.path.dirname(path)),
            by_limit=is_of_file_size(error),
        )

    def written(self, path: Path | str) -> None:
        """It was written, or is not wanted any more."""
        if self._failures:
            self._failures.pop(str(path), None)

    def clear(self) -> None:
        """Forget those of the process that has forked this one."""
        self._failures.clear()

    def report(self) -> tuple[str, float]:
        """What is wrong, '' if nothing is, and since when (CLOCK_MONOTONIC seconds)."""
        for path, failure in list(self._failures.items()):
            self._look_again(path, failure)
        if not self._failures:
            return "", 0.0
        reasons: dict[str, list[str]] = {}
        for path, failure in sorted(self._failures.items()):
            reasons.setdefault(failure.reason, []).append(path)
        since = min(failure.since for failure in self._failures.values())
        return "; ".join(f"{_named(paths)} cannot be written: {reason}" for reason, paths in reasons.items()), since

    @property
    def remedy(self) -> str:
        """What mends it; '' if nothing is wrong."""
        if not self._failures:
            return ""
        return FILE_SIZE_REMEDY if all(failure.by_limit for failure in self._failures.values()) else REMEDY

    def _look_again(self, path: str, failure: _Failure) -> None:
        directory = os.path.dirname(path)
        if failure.in_directory and not os.path.isdir(directory):
            del self._failures[path]
        elif self._clock() - failure.at >= _TRIAL_SECONDS:
            try:
                _try(directory)
            except OSError as error:
                self.failed(path, error)
            else:
                del self._failures[path]


def _try(directory: str) -> None:
    """Write to a new file there, and remove it. Raises OSError."""
    path = temporary_name(Path(directory, "trial"))
    descriptor = os.open(path, _NEW, 0o600)
    try:
        os.write(descriptor, bytes(_TRIAL_BYTES))
    finally:
        os.close(descriptor)
        os.unlink(path)


def _named(paths: list[str]) -> str:
    others = len(paths) - _MOST_NAMED
    return ", ".join(paths[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")


UNWRITTEN: Final = UnwrittenFiles()
"""Those of this process."""
