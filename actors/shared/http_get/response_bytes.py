"""The bytes of a response that have arrived and are not parsed yet. They are parsed in bulk, so that a server that
sends many short lines, or chunks, at once costs little time of the loop."""

from __future__ import annotations

import asyncio
from typing import Final

_PART_BYTES: Final = 16 << 10


class ResponseBytes:
    """A parser removes what it has read from the start of `held`."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.held = bytearray()

    async def more(self) -> bool:
        """Wait for more bytes; false at the end of the connection. Raises OSError when it is lost."""
        part = await self._reader.read(_PART_BYTES)
        self.held += part
        return bool(part)

    def take(self, most: int) -> bytes:
        """Remove and return the first bytes, at most this many."""
        part = bytes(self.held[:most])
        del self.held[:most]
        return part
