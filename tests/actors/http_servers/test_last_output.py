"""The last output of a stream: it reaches its caller, however slow that is and whatever it sends meanwhile, with each
protocol."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import socket
import struct
import sys
import termios
from collections.abc import AsyncIterator

import pytest
from tornado.iostream import IOStream
from websocket import ABNF

from actors.http_servers.serving.loop_turns import LoopTurns
from actors.http_servers.streaming import joined_streams, stream_translator, websocket
from actors.http_servers.streaming.joined_streams import join
from actors.http_servers.streaming.options import Streams
from actors.http_servers.streaming.runtime_stream import RuntimeStream
from actors.http_servers.streaming.stream_translator import Channels, Tunnel, join_translated
from tests.support.spdy_runtime import SpdyRuntime

PROTOCOLS = ["SPDY of exec and attach", "WebSocket of exec and attach", "WebSocket of port-forward"]
EXEC = Streams(stdin=True, stdout=True, stderr=False, tty=False)
WORDS = b"x" * 3_000_000
IDLE = 30.0


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection: one end of a Unix pair has no reset."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    return one, other


class Stream:
    """A caller, the server's two connections, and a runtime."""

    def __init__(self, protocol: str) -> None:
        near, caller = connected()
        self.runtime, far = connected()
        self.protocol, self.caller = protocol, caller
        caller.setblocking(False)
        self.near, self.far = IOStream(near), RuntimeStream(far)
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self.protocol == PROTOCOLS[0]:
            self.task = asyncio.ensure_future(join(self.near, self.far, IDLE, LoopTurns()))
        else:
            between = Channels(EXEC) if self.protocol == PROTOCOLS[1] else Tunnel()
            self.task = asyncio.ensure_future(join_translated(self.near, self.far, between, IDLE, LoopTurns()))

    def sent(self, payload: bytes) -> bytes:
        """What a caller sends as input."""
        if self.protocol == PROTOCOLS[0]:
            return payload
        channel = b"\x00" if self.protocol == PROTOCOLS[1] else b""
        return bytes(ABNF(1, 0, 0, 0, ABNF.OPCODE_BINARY, 1, channel + payload).format())

    def said(self, payload: bytes) -> bytes:
        """What a runtime says as output."""
        if self.protocol != PROTOCOLS[1]:
            return payload
        spdy = SpdyRuntime()
        streams = Channels(EXEC).start().to_runtime
        spdy.feed(streams)
        return b"".join(spdy.says("stdout", payload[at : at + 60_000]) for at in range(0, len(payload), 60_000))

    async def told(self) -> bytes:
        """The output that the caller has got when its connection ends."""
        read, loop = b"", asyncio.get_running_loop()
        while more := await loop.sock_recv(self.caller, 1 << 16):
            read += more
        if self.protocol == PROTOCOLS[0]:
            return read
        assert read.endswith(websocket.close_frame())
        payloads = messages(read.removesuffix(websocket.close_frame()))
        if self.protocol == PROTOCOLS[2]:
            return b"".join(payloads)
        # this runtime tells no status, which is a failure in the channel of errors
        return b"".join(one[1:] for one in payloads if one[0] == stream_translator.STDOUT)


def messages(read: bytes) -> list[bytes]:
    """The payloads of a server's frames."""
    found = []
    while read:
        length, at = read[1], 2
        if length > 125:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(read[2 : 2 + size], "big"), 2 + size
        found.append(read[at : at + length])
        read = read[at + length :]
    return found


@contextlib.asynccontextmanager
async def stream(protocol: str) -> AsyncIterator[Stream]:
    found = Stream(protocol)
    try:
        yield found
    finally:
        found.caller.close()
        found.runtime.close()
        if found.task is not None:
            await asyncio.wait_for(found.task, 10)
        found.near.close()
        found.far.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_caller_that_pauses_gets_all_output(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_streams, "LINGER_SECONDS", 0.01)
    async with stream(protocol) as one:
        one.start()
        loop = asyncio.get_running_loop()
        one.runtime.setblocking(False)
        if one.protocol == PROTOCOLS[1]:
            await loop.sock_recv(one.runtime, 1 << 16)  # what opens its streams: unread it would be a reset
        said = asyncio.ensure_future(loop.sock_sendall(one.runtime, one.said(WORDS)))
        said.add_done_callback(lambda _: one.runtime.close())
        await asyncio.sleep(0.5)  # it does not read, which nothing tells
        assert await asyncio.wait_for(one.told(), 20) == WORDS


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_caller_that_still_types_when_the_process_ends_gets_all_output(protocol: str) -> None:
    async with stream(protocol) as one:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(one.caller, one.sent(b"typed"))
        one.far.socket.send(b"never read")  # so that its end is a reset
        one.runtime.sendall(one.said(b"last words"))
        one.runtime.close()
        one.start()
        for _ in range(20):
            await asyncio.sleep(0)
            await loop.sock_sendall(one.caller, one.sent(b"typed on"))
        assert await asyncio.wait_for(one.told(), 20) == b"last words"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_departed_caller_ends_the_stream_while_the_runtime_continues(protocol: str) -> None:
    async with stream(protocol) as one:
        one.start()
        one.runtime.sendall(one.said(b"words"))
        one.caller.close()
        assert one.task is not None
        await asyncio.wait_for(one.task, 10)
        assert one.far.closed()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["closes", "resets"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_caller_that_leaves_while_the_runtime_takes_no_input_ends_the_stream(
    protocol: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined_streams, "LINGER_SECONDS", 0.2)
    monkeypatch.setattr(joined_streams, "POLL_SECONDS", 0.05)
    async with stream(protocol) as one:
        one.start()
        assert one.task is not None
        loop, near = asyncio.get_running_loop(), one.near.socket
        while not await _is_unread(near):
            await loop.sock_sendall(one.caller, one.sent(b"x" * 16_000))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(one.task), 0.5)  # a runtime may be slow
        if how == "resets":
            one.caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.caller.close()
        await asyncio.wait_for(one.task, 10)
        assert one.far.closed()


async def _is_unread(sock: socket.socket) -> bool:
    """Whether received bytes stay unread for a while."""
    for _ in range(20):
        await asyncio.sleep(0.005)
        if not int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(4)), sys.byteorder):
            return False
    return True
