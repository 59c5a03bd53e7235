"""A caller with a WebSocket and a runtime that speaks SPDY, on real connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from tornado.iostream import IOStream, StreamClosedError
from websocket import ABNF

from actors.http_servers.serving.loop_turns import LoopTurns
from actors.http_servers.streaming import stream_translator, websocket
from actors.http_servers.streaming.lost_status import RUNTIME_LEFT, lost_status
from actors.http_servers.streaming.options import Streams
from actors.http_servers.streaming.stream_translator import Channels, join_translated
from tests.support.spdy_runtime import SpdyRuntime

CAT = Streams(stdin=True, stdout=True, stderr=False, tty=False)


class Ends:
    """Caller - translated - runtime."""

    def __init__(self, idle: float) -> None:
        a, b = socket.socketpair()
        c, d = socket.socketpair()
        self.caller, near, far, self.runtime = (IOStream(each) for each in (a, b, c, d))
        self.task = asyncio.ensure_future(join_translated(near, far, Channels(CAT), idle, LoopTurns()))
        self.spdy, self.read = SpdyRuntime(), b""

    async def send(self, payload: bytes, kind: int = ABNF.OPCODE_BINARY) -> None:
        await self.caller.write(bytes(ABNF(1, 0, 0, 0, kind, 1, payload).format()))

    async def heard(self, kind: str, size: int) -> bytes:
        while len(self.spdy.heard.get(kind, b"")) < size:
            self.spdy.feed(await self.runtime.read_bytes(1 << 16, partial=True))
        return self.spdy.heard[kind]

    async def told(self) -> bytes:
        """All that the caller is told until its connection ends."""
        with contextlib.suppress(StreamClosedError):
            while True:
                self.read += await self.caller.read_bytes(1 << 16, partial=True)
        return self.read


@contextlib.asynccontextmanager
async def joined(idle: float = 0.0) -> AsyncIterator[Ends]:
    ends = Ends(idle)
    try:
        yield ends
    finally:
        ends.caller.close()
        ends.runtime.close()
        await asyncio.wait_for(ends.task, 10)


async def test_input_is_echoed_and_its_end_ends_the_process() -> None:
    async with joined() as ends:
        await ends.send(b"\x00hello")
        assert await ends.heard("stdin", 5) == b"hello"
        await ends.runtime.write(ends.spdy.says("stdout", b"hello"))
        await ends.send(b"\xff\x00")
        while "stdin" not in ends.spdy.ended:
            ends.spdy.feed(await ends.runtime.read_bytes(1 << 16, partial=True))
        for kind, payload in (("stdout", b""), ("error", b"{}")):
            await ends.runtime.write(ends.spdy.says(kind, payload, final=True))
        told = await asyncio.wait_for(ends.told(), 10)
        frames = [b"\x01", b"\x01hello", b"\x03{}"]
        binary = b"".join(websocket.frame(websocket.Opcode.BINARY, one) for one in frames)
        assert told == binary + websocket.close_frame()


async def test_a_departed_caller_ends_the_connection_to_the_runtime() -> None:
    async with joined() as ends:
        await ends.send(b"\x00x")
        await ends.heard("stdin", 1)
        ends.caller.close()
        with contextlib.suppress(StreamClosedError):
            await asyncio.wait_for(ends.runtime.read_until_close(), 10)
        await asyncio.wait_for(ends.task, 10)


async def test_a_caller_that_sends_invalid_frames_gets_the_reason_of_the_close() -> None:
    async with joined() as ends:
        await ends.caller.write(b"\x82\x01a")
        told = await asyncio.wait_for(ends.told(), 10)
        assert told.endswith(websocket.close_frame(1002, "a frame has reserved bits, or no mask"))


async def test_a_runtime_that_speaks_no_spdy_ends_the_stream_with_the_reason() -> None:
    async with joined() as ends:
        await ends.runtime.write(b"\x80\x02\0\x06\0\0\0\4\0\0\0\1")
        told = await asyncio.wait_for(ends.told(), 10)
        assert told.endswith(websocket.close_frame(1011, "the peer speaks SPDY/2"))


async def test_the_caller_is_told_of_a_runtime_that_dies_during_a_command() -> None:
    async with joined() as ends:
        await ends.send(b"\x00x")
        await ends.heard("stdin", 1)
        await ends.runtime.write(ends.spdy.says("stdout", b"half"))
        ends.runtime.close()
        told = await asyncio.wait_for(ends.told(), 10)
        lost = websocket.frame(websocket.Opcode.BINARY, b"\x03" + lost_status(RUNTIME_LEFT))
        assert told.endswith(websocket.frame(websocket.Opcode.BINARY, b"\x01half") + lost + websocket.close_frame())


async def test_a_caller_that_does_not_read_slows_the_runtime_down() -> None:
    async with joined() as ends:
        await ends.send(b"\x00x")
        await ends.heard("stdin", 1)
        piece = ends.spdy.says("stdout", bytes(1 << 20))

        async def flood() -> None:
            for _ in range(64):
                await ends.runtime.write(piece)

        flooding = asyncio.ensure_future(flood())
        done, _ = await asyncio.wait([flooding], timeout=0.5)
        assert not done
        ends.caller.close()
        with contextlib.suppress(StreamClosedError):
            await asyncio.wait_for(flooding, 10)


class Turns(Channels):
    """Notes how often the event loop went round before each piece of the caller was translated."""

    def __init__(self) -> None:
        super().__init__(CAT)
        self.rounds, self.at = 0, list[int]()

    async def count(self) -> None:
        while True:
            self.rounds += 1
            await asyncio.sleep(0)

    def from_caller(self, received: bytes) -> stream_translator.Ends:
        self.at.append(self.rounds)
        return super().from_caller(received)


async def test_a_flood_of_unanswered_frames_delays_no_other_caller() -> None:
    (caller, near), (far, runtime) = socket.socketpair(), socket.socketpair()
    pong = bytes(ABNF(1, 0, 0, 0, ABNF.OPCODE_PONG, 1, b"").format())
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    caller.sendall(pong * ((128 << 10) // len(pong)))
    caller.shutdown(socket.SHUT_WR)
    turns = Turns()
    counting = asyncio.ensure_future(turns.count())
    with caller, runtime:
        await asyncio.wait_for(join_translated(IOStream(near), IOStream(far), turns, 0.0, LoopTurns()), 10)
    counting.cancel()
    assert len(turns.at) > 1
    assert len(set(turns.at)) == len(turns.at)
