"""A file descriptor that the fork server reserves for reading /proc. Without one it would take a stopped process for
one that hangs, a starved one for an idle one, and a large one for a small one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class SpareDescriptor:
    """While it is lent one file at a time can be opened, whatever else has no descriptor left."""

    def __init__(self) -> None:
        self._fd: int | None = None
        self._take()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """For code that opens one file at a time and closes it before the next."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        try:
            yield
        finally:
            self._take()

    def fds(self) -> list[int]:
        """The descriptors that every child closes."""
        return [] if self._fd is None else [self._fd]

    def _take(self) -> None:
        with suppress(OSError):  # none is free: the next loan tries again
            self._fd = os.open("/", os.O_PATH | os.O_CLOEXEC)
