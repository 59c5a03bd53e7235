"""The start of the body of a response (RFC 9112, section 6), without the sizes of its chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

BODY_BYTES: Final = 10 << 10
"""How much is read; what follows is left."""
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_SIZE_DIGITS: Final = 16


class BodyError(Exception):
    """The body is damaged. The text has the words of Go's HTTP client."""


class ResponseBody:
    """`content` has the bytes that were read, also after an error or a cancellation."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.content = b""

    async def read(self, status: int, fields: Mapping[str, str]) -> None:
        """Read up to BODY_BYTES, to the announced length, the last chunk, or the end of the connection where neither is
        announced. `fields`: by name in lower case.

        Raises BodyError; OSError and asyncio.IncompleteReadError when the connection ends before the body.
        """
        length = fields.get("content-length", "")
        if status in (204, 304):
            return
        if fields.get("transfer-encoding", "").lower() == "chunked":
            await self._chunks()
        elif length.isascii() and length.isdigit():
            await self._bytes(int(length[:_SIZE_DIGITS]))
        else:
            await self._rest()

    async def _bytes(self, count: int) -> None:
        end = len(self.content) + count
        while len(self.content) < min(end, BODY_BYTES):
            part = await self._reader.read(min(end, BODY_BYTES) - len(self.content))
            if not part:
                raise asyncio.IncompleteReadError(b"", None)
            self.content += part

    async def _rest(self) -> None:
        while len(self.content) < BODY_BYTES:
            part = await self._reader.read(BODY_BYTES - len(self.content))
            if not part:
                return
            self.content += part

    async def _chunks(self) -> None:
        while len(self.content) < BODY_BYTES:
            size = await self._chunk_size()
            if not size:
                return
            await self._bytes(size)
            if len(self.content) < BODY_BYTES and await self._reader.readexactly(2) != b"\r\n":
                raise BodyError("malformed chunked encoding")

    async def _chunk_size(self) -> int:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise BodyError("header line too long") from None
        digits = line.decode("latin-1").partition(";")[0].strip()
        if not 0 < len(digits) <= _SIZE_DIGITS or not _HEX.issuperset(digits):
            raise BodyError("invalid byte in chunk length")
        return int(digits, 16)
