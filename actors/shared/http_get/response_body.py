"""The start of the body of a response (RFC 9112, section 6), without the sizes of its chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from .chunks import ChunkDecoder
from .response_bytes import ResponseBytes

BODY_BYTES: Final = 10 << 10
"""The most bytes that are read of a body."""
_SIZE_DIGITS: Final = 16


class ResponseBody:
    """Reads the start of a body. `content` has the bytes read so far, also after an error or a cancellation."""

    def __init__(self, received: ResponseBytes, *, longer: bool = True) -> None:
        """`longer`: read the start of a body also if its announced length is above BODY_BYTES."""
        self._received, self._longer = received, longer
        self._content = bytearray()

    @property
    def content(self) -> bytes:
        return bytes(self._content)

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
            announced = int(length[:_SIZE_DIGITS])
            if announced > BODY_BYTES and not self._longer:
                return
            if not await self._bytes(min(announced, BODY_BYTES)):
                raise asyncio.IncompleteReadError(b"", None)
        else:
            await self._bytes(BODY_BYTES)

    async def _bytes(self, count: int) -> bool:
        """Read up to `count` bytes. Returns whether there were that many."""
        self._content += self._received.take(count)
        while len(self._content) < count:
            if not await self._received.more():
                return False
            self._content += self._received.take(count - len(self._content))
        return True

    async def _chunks(self) -> None:
        decoder = ChunkDecoder(self._content, BODY_BYTES)
        while not decoder.decode(self._received.held):
            if not await self._received.more():
                raise asyncio.IncompleteReadError(b"", None)
            await asyncio.sleep(0)  # with many small chunks each part takes milliseconds
