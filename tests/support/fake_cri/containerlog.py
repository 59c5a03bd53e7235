"""The CRI log file of a container: `<RFC 3339 time> <stream> <P|F> <text>` a line."""

from __future__ import annotations

import os
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
