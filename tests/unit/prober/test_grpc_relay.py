"""Connections of gRPC probes to servers that do not behave."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest

from actors.prober.grpc_probe import NO_MESSAGE, probe_grpc
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


GOES_AWAY: Final = """
import socket, sys, time
settings, acknowledged, goaway = (bytes.fromhex(one) for one in sys.argv[1:])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(listener.accept()[0])
    kept[-1].sendall(settings + acknowledged + goaway)
"""
PROBES: Final = """
import asyncio, sys
from actors.prober.grpc_probe import probe_grpc
print(asyncio.run(probe_grpc("127.0.0.1", int(sys.argv[1]), "", 1.0)).result)
"""


@pytest.mark.parametrize("last", [0, 1, 0x7FFFFFFF])
def test_a_server_that_sends_goaway_and_keeps_its_connection_fails_the_probe_in_time(last: int) -> None:
    """In processes of their own: the library would hold up this one for ever."""
    goaway = frame(7, 0, 0, struct.pack("!II", last, 0))
    command = [sys.executable, "-c", GOES_AWAY, *(one.hex() for one in (SETTINGS, ACKNOWLEDGED, goaway))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as rogue:
        try:
            assert rogue.stdout is not None
            port = rogue.stdout.readline().strip()
            probe = [sys.executable, "-c", PROBES, port]
            done = subprocess.run(probe, capture_output=True, text=True, timeout=6 * SECONDS, check=True)
        finally:
            rogue.kill()
    assert done.stdout == "failure\n"


async def test_a_call_that_ends_well_without_a_message_is_a_failure() -> None:
    headers = b"\x88" + _header(b"content-type", b"application/grpc")
    answer = frame(1, 4, 1, headers) + frame(1, 5, 1, _header(b"grpc-status", b"0"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SETTINGS + ACKNOWLEDGED)
        while b"grpc.health.v1.Health" not in await reader.read(10_000):
            pass
        writer.write(answer)
        while await reader.read(10_000):
            pass

    async with server(talk) as (port, _):
        outcome = await probe_grpc("127.0.0.1", port, "", SECONDS)
    assert (outcome.result, outcome.text) == (
        "failure", f"error: health rpc probe failed: rpc error: code = Internal desc = {NO_MESSAGE}",
    )  # fmt: skip


def _header(name: bytes, value: bytes) -> bytes:
    """A literal header field (RFC 7541, section 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
