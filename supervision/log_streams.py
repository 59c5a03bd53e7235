"""The log's streams: stderr for all lines, or stdout for those that are not errors, optionally buffered.

A reader that stops must not stop the agent: lines that a pipe or terminal does not accept at once are dropped and
counted.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import time
from contextlib import suppress
from typing import TextIO


class Sink:
    """Writes lines to a file descriptor. `size`: the buffer in bytes; 0: none."""

    def __init__(self, fd: int, size: int = 0) -> None:
        self.lost = 0
        self._fd, self._size = fd, size
        self._buffer: list[bytes] = []
        self._bytes, self._since = 0, 0.0
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def write(self, line: bytes) -> None:
        if self._bytes + len(line) > self._size:
            self.flush()
        if len(line) > self._size:
            self._put(line)
            return
        self._since = self._since if self._buffer else time.monotonic()
        self._buffer.append(line)
        self._bytes += len(line)

    def flush(self, older_than: float = 0.0) -> None:
        """Write the buffer if it is older than `seconds`, in portions of whole lines that no other writer can split."""
        if not self._buffer or time.monotonic() - self._since < older_than:
            return
        buffer, portion = self._buffer, b""
        self.forget()
        for line in buffer:
            if portion and len(portion) + len(line) > select.PIPE_BUF:
                self._put(portion)
                portion = b""
            portion += line
        self._put(portion)

    def forget(self) -> None:
        """In a child: drop the buffer, which the parent writes."""
        self._buffer, self._bytes = [], 0

    def _put(self, data: bytes) -> None:
        lines = data.count(b"\n")
        if self.lost:
            data = b"W (%d lines of the log were lost: nobody read them)\n" % self.lost + data
        written = False
        for start in range(0, len(data), select.PIPE_BUF):
            if not self._room() or not self._write(data[start : start + select.PIPE_BUF]):
                self.lost += lines
                return
            written = True
        if written:
            self.lost = 0

    def _room(self) -> bool:
        """Whether PIPE_BUF bytes can be written without blocking."""
        return any(event & select.POLLOUT for _, event in self._poll.poll(0))

    def _write(self, data: bytes) -> bool:
        try:
            os.write(self._fd, data)
        except OSError:
            return False
        return True


class Console(logging.StreamHandler[TextIO]):
    """Writes to stderr or another stream, and the split lines to stdout."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        fd = _fd_of(stream)
        self._sink = Sink(fd) if fd >= 0 else None
        self._information: Sink | None = None
        self._below = logging.NOTSET
        self._flush_seconds = 0.0

    @property
    def lost(self) -> int:
        """Lines lost since the last one written."""
        return self._sink.lost if self._sink is not None else 0

    def split(self, below: int, size: int, flush_seconds: float) -> None:
        """Send records below this level to stdout, buffered up to `size` bytes and `seconds`."""
        self.unsplit()
        fd = _fd_of(sys.stdout)
        self._information = Sink(fd, size) if fd >= 0 else None
        self._below, self._flush_seconds = below, flush_seconds

    def unsplit(self) -> None:
        self.flush_information()
        self._information = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._sink is None:
            super().emit(record)
            return
        line = self.format(record).encode(errors="replace") + b"\n"
        if self._information is not None and record.levelno < self._below:
            self._information.write(line)
        else:
            self.flush_information()  # earlier lines come before an error
            self._sink.write(line)

    def flush(self) -> None:
        self.flush_information()
        super().flush()

    def flush_information(self, *, due: bool = False) -> None:
        """`due`: only if the buffer is old enough."""
        if self._information is not None:
            self._information.flush(self._flush_seconds if due else 0.0)

    def forget(self) -> None:
        """Runs in a child; see Sink."""
        if self._information is not None:
            self._information.forget()


def flush_standard_streams() -> None:
    """Write what Python's own streams buffer, such as a traceback; a disk that takes nothing must end no process."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()


def _fd_of(stream: TextIO) -> int:
    """The stream's descriptor; -1 if it has none, as in tests."""
    try:
        fd = stream.fileno()
        select.poll().register(fd, select.POLLOUT)
    except (OSError, ValueError, AttributeError):
        return -1
    return fd
