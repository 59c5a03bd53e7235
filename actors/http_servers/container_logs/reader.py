"""Reads a container's log file, and follows it through rotation.

The caller asks for each block, and nothing is read ahead: a slow client costs one block of memory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import BinaryIO

from .lines import LineFilter, is_partial
from .opening import LogUnavailable
from .query import LogQuery

BLOCK_BYTES = 64 * 1024
POLL_SECONDS = 0.1
"""Poll interval of a followed log; a stat and a read of an idle file cost microseconds."""
ENDED_POLL_SECONDS = 1.0
"""Interval of the check whether the container of a quiet, followed log still runs."""
MAX_LINE_BYTES = 1024 * 1024
"""Runtimes split lines at 16 KiB; this much without a newline is no line, and is dropped."""

Opener = Callable[[], BinaryIO]
"""Opens the log at its path now. Raises OSError."""


def seek_tail(file: BinaryIO, lines: int) -> None:
    """Move to the start of the last `lines` lines (parts of a split line count as one), reading backwards by blocks."""
    end = file.seek(0, os.SEEK_END)
    if lines == 0:
        return
    position, wanted, rest = end, lines, b""
    while position > 0:
        size = min(BLOCK_BYTES, position)
        position -= size
        file.seek(position)
        rest = file.read(size) + rest
        starts = _line_starts(rest, position == 0)
        whole = [start for start in starts if not _continues(rest, start)]
        if len(whole) >= wanted and (position == 0 or len(whole) > wanted):
            file.seek(position + whole[-wanted])
            return
    file.seek(0)


def _line_starts(data: bytes, from_beginning: bool) -> list[int]:
    starts, at = ([0] if from_beginning and data else []), -1
    while (at := data.find(b"\n", at + 1)) != -1 and at + 1 < len(data):
        starts.append(at + 1)
    return starts


def _continues(data: bytes, start: int) -> bool:
    """Whether the line at `start` continues a partial line."""
    return start > 0 and is_partial(data[data.rfind(b"\n", 0, start - 1) + 1 : start - 1])


async def read_log(opener: Opener, query: LogQuery, running: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
    """The output for the client, in blocks. With `follow`, until `running` returns False and the file is at its end.

    Raises LogUnavailable when the log cannot be opened at first.
    """
    file = opener()
    try:
        if query.tail_lines is not None:
            seek_tail(file, query.tail_lines)
        sieve, rest = LineFilter(query), b""
        quiet, ended = 0.0, False
        while not sieve.full:
            data = file.read(BLOCK_BYTES)
            if data:
                quiet = 0.0
                *lines, rest = (rest + data).split(b"\n")
                block = b"".join(map(sieve.feed, lines))
                if block:
                    yield block
                rest = rest if len(rest) <= MAX_LINE_BYTES else b""
                await asyncio.sleep(0)
                continue
            if not query.follow or ended:
                break
            replaced = _rotated(file, opener)
            if replaced is not None:
                file.close()
                file, rest = replaced, b""
                continue
            await asyncio.sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
            if quiet >= ENDED_POLL_SECONDS:
                quiet, ended = 0.0, not await running()
        if rest and not sieve.full and not query.follow and (last := sieve.feed(rest)):
            yield last
    finally:
        file.close()


def _rotated(file: BinaryIO, opener: Opener) -> BinaryIO | None:
    """The new file at the path, if the open one, read to its end, was renamed."""
    try:
        fresh = opener()
    except LogUnavailable:
        return None
    here, there = os.fstat(file.fileno()), os.fstat(fresh.fileno())
    if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
        if there.st_size < file.tell():
            file.seek(0)
        fresh.close()
        return None
    return fresh
