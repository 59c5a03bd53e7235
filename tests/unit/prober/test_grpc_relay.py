"""Connections of gRPC probes to servers that do not behave."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest

from actors.prober.grpc_probe import probe_grpc
from actors.prober.grpc_relay import MOST_BYTES, GrpcRelay

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SECONDS = 20.0
"""The deadline of what takes milliseconds."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2 (RFC 9113, section 4.1)."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


SETTINGS, ACKNOWLEDGED = frame(4, 0, 0), frame(4, 1, 0)
PING, EMPTY_DATA = frame(6, 0, 0, b"12345678"), frame(0, 0, 1)


@contextlib.asynccontextmanager
async def server(talk: Talk) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """Its port, and what is set once a connection has ended."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await talk(reader, writer)
        ended.set()
        writer.transport.abort()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1], ended
    finally:
        listener.close()


def flood(frames: bytes) -> Talk:
    """Without an end."""

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SETTINGS + ACKNOWLEDGED)
        while True:
            writer.write(frames)
            await writer.drain()
            await asyncio.sleep(0)

    return talk


@pytest.mark.parametrize("frames", [PING, SETTINGS, EMPTY_DATA], ids=["pings", "settings", "data"])
async def test_a_probe_keeps_no_connection_to_a_server_that_goes_on_to_send(frames: bytes) -> None:
    async with server(flood(frames * 1000)) as (port, ended):
        assert (await probe_grpc("127.0.0.1", port, "", 0.5)).result == "failure"
        async with asyncio.timeout(SECONDS):
            await ended.wait()


async def test_what_a_server_sends_for_one_probe_is_bounded() -> None:
    async with server(flood(PING * 1000)) as (port, ended):
        outcome = await probe_grpc("127.0.0.1", port, "", SECONDS)
        reason = f"error reading from server: the answer has more than {MOST_BYTES} bytes"
        text = f"error: health rpc probe failed: rpc error: code = Unavailable desc = {reason}"
        assert (outcome.result, outcome.text) == ("failure", text)
        await ended.wait()


async def test_a_server_that_accepts_and_is_silent_has_not_connected() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass

    async with server(silent) as (port, ended):
        outcome = await probe_grpc("127.0.0.1", port, "", 0.5)
        text = f'timeout: failed to connect service "127.0.0.1:{port}" within 500ms: context deadline exceeded'
        assert (outcome.result, outcome.text) == ("failure", text)
        async with asyncio.timeout(SECONDS):
            await ended.wait()


async def test_a_connection_that_the_server_resets_is_named_so() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SETTINGS + ACKNOWLEDGED)
        while b"grpc.health.v1.Health" not in await reader.read(10_000):
            pass
        lingering = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingering)

    async with server(reset) as (port, _):
        outcome = await probe_grpc("127.0.0.1", port, "", SECONDS)
        assert outcome.text.endswith("desc = error reading from server: connection reset by peer")


CONNECTS: Final = """
import socket, sys
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect("\\0" + sys.argv[1])
    print(sock.recv(10))
"""


async def test_a_process_that_finds_the_relay_in_the_hosts_network_gets_no_connection_to_the_pod() -> None:
    """A pod with hostNetwork sees the socket. What it takes of the bound for one probe, the probe would lack."""
    asked = False

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked = True
        writer.write(b"hello")

    async with server(talk) as (port, _), GrpcRelay("127.0.0.1", port) as relay:
        name = relay.target.removeprefix("unix-abstract:")
        command = (sys.executable, "-c", CONNECTS, name)
        other = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert (await asyncio.wait_for(other.communicate(), SECONDS))[0] in (b"b''\n", b"")
        assert not asked
        reader, writer = await asyncio.open_unix_connection(f"\0{name}")
        assert await asyncio.wait_for(reader.read(10), SECONDS) == b"hello"
        writer.close()
