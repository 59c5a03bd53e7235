"""The chunked coding of a body (RFC 9112, section 7.1), with the bounds and errors of Go's client. Pure."""

from __future__ import annotations

import re
from typing import Final

_WHOLE_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,16})\r\n")
_SIZE: Final = re.compile(rb"\s*([0-9a-fA-F]{1,16})\s*(;.*)?", re.DOTALL)
_MOST_LINE: Final = 4096
_MOST_EXCESS: Final = 16 << 10
"""How much longer all lines may be than 16 bytes for each chunk and twice its data."""


class BodyError(Exception):
    """The body is damaged. The text has the words of Go's HTTP client."""


class ChunkDecoder:
    """Decodes up to `most` bytes, in as many parts as they arrive in."""

    def __init__(self, content: bytearray, most: int) -> None:
        """What is decoded is appended to `content`."""
        self._content, self._most = content, most
        self._left = 0
        """Bytes of this chunk that are missing."""
        self._has_end = False
        """The end of this chunk's line is missing."""
        self._excess = 0

    def decode(self, held: bytearray) -> bool:
        """Take from the start of `held` what can be decoded. Whether the body, or `most` bytes of it, is complete.
        Raises BodyError."""
        data, at = bytes(held), 0
        while len(self._content) < self._most:
            if not self._left and not self._has_end:
                at = self._whole_chunks(data, at)
                end = data.find(b"\n", at, at + _MOST_LINE)
                if end < 0 and len(data) - at >= _MOST_LINE:
                    raise BodyError("header line too long")
                if end < 0:
                    break
                self._left, at = self._size(data[at:end]), end + 1
                if not self._left:
                    return True
            if self._has_end:
                if len(data) < at + 2:
                    break
                if not data.startswith(b"\r\n", at):
                    raise BodyError("malformed chunked encoding")
                self._has_end, at = False, at + 2
            else:
                part = data[at : at + min(self._left, self._most - len(self._content))]
                self._content += part
                self._left, at = self._left - len(part), at + len(part)
                self._has_end = not self._left
                if not part:
                    break
        del held[:at]
        return len(self._content) >= self._most

    def _whole_chunks(self, data: bytes, at: int) -> int:
        """Take the chunks from there on that are whole and have nothing but their data. Returns where the next begins.
        Many small chunks cost a loop most here."""
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
