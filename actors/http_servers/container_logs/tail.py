"""Finds the last lines of a log file, reading backwards by blocks. Each line is read once. Other requests are served
between two blocks, because a tail may be nearly all of a large file, or one long line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from .lines import MAX_LINE_BYTES, is_partial

BLOCK_BYTES: Final = 64 * 1024
LONG_BLOCK_BYTES: Final = 512 * 1024
"""Bytes per read within a line that starts before the block."""
JOINED_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a split line that are joined."""


async def seek_tail(file: BinaryIO, lines: int, end: int) -> AsyncIterator[None]:
    """Move to the start of the last `lines` lines before `end`. Parts of a split line count as one, up to JOINED_BYTES;
    a longer one counts as several. Yields after each block; run it to the end."""
    position = file.seek(end)
    if lines == 0:
        return
    scan = _BackwardScan(lines, position)
    while position > 0 and scan.found is None:
        size = min(LONG_BLOCK_BYTES if scan.in_long_line else BLOCK_BYTES, position)
        position -= size
        file.seek(position)
        scan.feed(file.read(size), position)
        yield
        await asyncio.sleep(0)
    file.seek(scan.found or 0)


class _BackwardScan:
    """Receives the blocks of a file, the last one first."""

    def __init__(self, lines: int, end: int) -> None:
        self.found: int | None = None
        """The position where the last `lines` lines start, once it is found."""
        self._missing_lines, self._end = lines, end
        self._pieces: list[bytes] = []
        """The line whose beginning is not found yet, its last piece first."""
        self._length = 0
        self._following: int | None = None
        """The position where the next line starts."""
        self._joined_end = end
        """The end of the parts that are joined with the following line."""

    @property
    def in_long_line(self) -> bool:
        """Whether the line that is read is longer than a block."""
        return self._length > BLOCK_BYTES

    def feed(self, block: bytes, position: int) -> None:
        """`position`: of the block in the file."""
        beginning, *lines = block.split(b"\n")
        start = position + len(block) + 1
        for text in reversed(lines):
            start -= len(text) + 1
            self._keep(text)
            self._line(start)
            if self.found is not None:
                return
        self._keep(beginning)
        if position == 0:
            self._line(0)

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > MAX_LINE_BYTES:  # its header marks a part
            self._pieces = self._pieces[-1:]
            self._length = len(piece) + sum(map(len, self._pieces))
        self._pieces.append(piece)

    def _line(self, start: int) -> None:
        """Count the line that starts here."""
        line = b"".join(reversed(self._pieces))
        self._pieces, self._length = [], 0
        if self._following is not None and self._ends_before(line, self._following):
            self._missing_lines -= 1
            self._joined_end = self._following
            if not self._missing_lines:
                self.found = self._following
        if start < self._end:
            self._following = start

    def _ends_before(self, line: bytes, following: int) -> bool:
        """Whether this line is complete: the line that starts at `following` does not continue it."""
        return self._joined_end - following >= JOINED_BYTES or not is_partial(line)
