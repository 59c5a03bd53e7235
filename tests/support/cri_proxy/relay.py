"""Passes bytes on between two Unix sockets, and cuts every connection on order."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Relay:
    """Listens on `front` and passes on to `back`."""

    def __init__(self, front: str, back: str) -> None:
        self._front, self._back = front, back
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self._front)

    def cut(self) -> None:
        """As the end of the runtime would. New connections are taken."""
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            onward_reader, onward = await asyncio.open_unix_connection(self._back)
            self._open |= {writer, onward}
            try:
                await asyncio.gather(_pass_on(reader, onward), _pass_on(onward_reader, writer))
            finally:
                self._open -= {writer, onward}
                onward.close()
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
