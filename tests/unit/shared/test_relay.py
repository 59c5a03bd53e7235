"""The socket that passes its clients on to a gRPC server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import cast

import pytest

from actors.shared import relay
from actors.shared.relay import Relay, is_socket, kept_socket, listen
from supervision.actor import Actor


@contextlib.asynccontextmanager
async def echoing() -> AsyncIterator[str]:
    """The path of a relay to a server that answers with what it is sent."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    with tempfile.TemporaryDirectory(prefix="relay-") as directory:  # short: a socket's path has 107 bytes

        async def start() -> str:
            return f"{directory}/inner"

        server = await asyncio.start_unix_server(echo, f"{directory}/inner")
        passing = Relay(start)
        await passing.open(listen(f"{directory}/outer"))
        try:
            yield f"{directory}/outer"
        finally:
            passing.close()
            server.close()


async def test_a_client_with_all_its_connections_open_blocks_no_other_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "MAX_CLIENTS", 3)
    async with asyncio.timeout(20), echoing() as path:
        held = []
        for _ in range(3):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"x")
            assert await reader.read(1) == b"x"
            held.append((reader, writer))
        other_reader, other = await asyncio.open_unix_connection(path)
        other.write(b"y")
        assert await other_reader.read(1) == b"y"
        with contextlib.suppress(ConnectionError):
            assert await held[0][0].read(1) == b""
        held[2][1].write(b"z")
        assert await held[2][0].read(1) == b"z"
        for writer in (other, *(writer for _, writer in held)):
            writer.close()


async def test_a_closed_relay_ends_its_connections_and_accepts_no_more() -> None:
    async with asyncio.timeout(20):
        with tempfile.TemporaryDirectory(prefix="relay-") as directory:
            accepted = asyncio.Event()

            async def never() -> str:
                accepted.set()
                return await asyncio.Future()

            passing = Relay(never)
            await passing.open(listen(f"{directory}/outer"))
            reader, writer = await asyncio.open_unix_connection(f"{directory}/outer")
            await accepted.wait()
            passing.close()
            assert await reader.read(1) == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_unix_connection(f"{directory}/outer")
            writer.close()


class _Inheriting:
    """An actor that inherits the socket of its last incarnation."""

    def __init__(self) -> None:
        self.sockets: dict[str, list[socket.socket]] = {}

    def listen(self, label: str, make: Callable[[], list[socket.socket]]) -> list[socket.socket]:
        if all(sock.fileno() < 0 for sock in self.sockets.get(label, [])):
            self.sockets[label] = make()
        return self.sockets[label]


def test_the_socket_of_the_last_incarnation_is_kept_while_clients_can_find_it() -> None:
    actor = cast("Actor", _Inheriting())
    with tempfile.TemporaryDirectory(prefix="relay-") as directory:
        path = f"{directory}/socket"
        first = kept_socket(actor, path)
        assert kept_socket(actor, path) is first
        os.unlink(path)
        second = kept_socket(actor, path)
        assert second is not first
        assert is_socket(path)
        second.close()
