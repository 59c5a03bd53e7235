"""The CRI log file of a container: `<RFC 3339 time> <stream> <P|F> <text>` a line."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime


class ContainerLog:
    """Written where the directory is there; without a path, nowhere."""

    def __init__(self, path: str, clock_ns: Callable[[], int]) -> None:
        self._path, self._clock_ns = path, clock_ns

    def write(self, stream: str, text: str) -> None:
        """Appends each line of `text`; makes the file."""
        if not self._path or not os.path.isdir(os.path.dirname(self._path)):
            return
        seconds, rest = divmod(self._clock_ns(), 1_000_000_000)
        stamp = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        with open(self._path, "a", encoding="utf-8") as log:
            log.writelines(f"{stamp} {stream} F {line}\n" for line in text.splitlines())


def is_pipe(path: str) -> bool:
    """Whether the log is a named pipe, which cannot be opened before it has a reader."""
    return bool(path) and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


async def wait_for_reader(path: str) -> None:
    """Return once somebody reads the pipe, or it is gone."""
    while True:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                return
            await asyncio.sleep(0.01)
        else:
            return
