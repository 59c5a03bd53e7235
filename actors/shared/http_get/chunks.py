"""The chunked coding of a body (RFC 9112, section 7.1), with the bounds and errors of Go's client. Pure."""

from __future__ import annotations

import re
from typing import Final

_WHOLE_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,16})\r\n")
_SIZE: Final = re.compile(rb"\s*([0-9a-fA-F]{1,16})\s*(;.*)?", re.DOTALL)
_MOST_LINE: Final = 4096
_MOST_EXCESS: Final = 16 << 10
"""The chunk lines may have this many bytes more than 16 for each chunk and twice its data."""


class BodyError(Exception):
    """The body is damaged. The text has the words of Go's HTTP client."""


class ChunkDecoder:
    """Decodes up to `most` bytes, in as many parts as they arrive in."""

    def __init__(self, content: bytearray, most: int) -> None:
        """What is decoded is appended to `content`."""
        self._content, self._most = content, most
        self._left = 0
        """Bytes of this chunk that are missing."""
        self._needs_line_end = False
        """The chunk's data is complete, and the line end behind it has not come yet."""
        self._excess = 0

    def decode(self, held: bytearray) -> bool:
        """Decode what `held` begins with, and remove it there. Returns whether the body, or `most` bytes of it, is
        complete. Raises BodyError."""
        data, at = bytes(held), 0
        while len(self._content) < self._most:
            if not self._left and not self._needs_line_end:
                at = self._whole_chunks(data, at)
                end = data.find(b"\n", at, at + _MOST_LINE)
                if end < 0 and len(data) - at >= _MOST_LINE:
                    raise BodyError("header line too long")
                if end < 0:
                    break
                self._left, at = self._size(data[at:end]), end + 1
                if not self._left:
                    return True
            if self._needs_line_end:
                if len(data) < at + 2:
                    break
                if not data.startswith(b"\r\n", at):
                    raise BodyError("malformed chunked encoding")
                self._needs_line_end, at = False, at + 2
            else:
                part = data[at : at + min(self._left, self._most - len(self._content))]
                self._content += part
                self._left, at = self._left - len(part), at + len(part)
                self._needs_line_end = not self._left
                if not part:
                    break
        del held[:at]
        return len(self._content) >= self._most

    def _whole_chunks(self, data: bytes, at: int) -> int:
        """Decode the complete chunks without extensions from `at` on. Returns the position of the next chunk. This fast
        path is for bodies of many small chunks."""
        content, begun = self._content, at
        while found := _WHOLE_LINE.match(data, at):
            start = found.end()
            end = start + int(found[1], 16)
            if end == start or len(content) + end - start > self._most or not data.startswith(b"\r\n", end):
                break
            content += data[start:end]
            at = end + 2
        self._excess = max(0, self._excess - (at - begun))
        return at

    def _size(self, line: bytes) -> int:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise BodyError("invalid byte in chunk length")
        size = int(found[1], 16)
        self._excess = max(0, self._excess + len(line) - 15 - 2 * size)
        if self._excess > _MOST_EXCESS:
            raise BodyError("chunked encoding contains too much non-data")
        return size
