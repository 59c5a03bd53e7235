"""Reads a container's log file, and follows it through rotation.

The caller asks for each block, and nothing is read ahead: a slow client costs one block of memory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import BinaryIO

from .lines import MAX_LINE_BYTES, LineFilter
from .log_opener import LogUnavailable
from .query import LogQuery
from .tail import BLOCK_BYTES, seek_tail

POLL_SECONDS = 0.1
"""Poll interval of a followed log; a stat and a read of an idle file cost microseconds."""
ENDED_POLL_SECONDS = 1.0
"""Interval of the check whether the container of a quiet, followed log still runs."""

Opener = Callable[[], BinaryIO]
"""Opens the log at its path now. Raises OSError."""


async def read_log(opener: Opener, query: LogQuery, running: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
    """The output for the client, in blocks. With `follow`, until `running` returns False and the file is at its end;
    without it, up to the present end of the file. A block is empty once the log is open, and when the bytes read
    contain nothing for the client. The caller can then begin its answer, or stop if the client is gone.

    Raises LogUnavailable when the log cannot be opened at first.
    """
    file, fresh = opener(), None
    try:
        end = os.fstat(file.fileno()).st_size
        yield b""
        if query.tail_lines is not None:
            async for _ in seek_tail(file, query.tail_lines, end):
                yield b""
        line_filter, rest = LineFilter(query), b""
        quiet, ended = 0.0, None  # at the first end of the file it is asked at once
        while not line_filter.full:
            data = file.read(BLOCK_BYTES if query.follow else max(0, min(BLOCK_BYTES, end - file.tell())))
            if data:
                quiet = 0.0
                *lines, rest = (rest + data).split(b"\n")
                block = b"".join(map(line_filter.feed, lines))
                if line_filter.within_line or len(rest) > MAX_LINE_BYTES:
                    block, rest = block + line_filter.feed(rest, ends=False), b""
                yield block
                await asyncio.sleep(0)
                continue
            if not query.follow:
                break
            if fresh is not None:
                file.close()
                file, fresh, rest = fresh, None, b""
                if line_filter.within_line:
                    yield line_filter.feed(b"")
                continue
            fresh = _open_rotated(file, opener)
            if fresh is None:
                if ended:
                    break
                if ended is None or quiet >= ENDED_POLL_SECONDS:
                    quiet, ended = 0.0, not await running()
                    continue
            # a runtime may write to the old file for a moment after it has made the new one
            await asyncio.sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
        if (rest or line_filter.within_line) and not line_filter.full and not query.follow:
            yield line_filter.feed(rest)
    finally:
        file.close()
        if fresh is not None:
            fresh.close()


def _open_rotated(file: BinaryIO, opener: Opener) -> BinaryIO | None:
    """The new file at the path, if the open one has been read to its end and renamed."""
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
