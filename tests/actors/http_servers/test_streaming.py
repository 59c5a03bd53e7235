"""A stream to the runtime's streaming server, which is played here, and the joining of two connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream, StreamClosedError

from actors.cert_manager import self_signed
from actors.http_servers.serving.loop_turns import LoopTurns
from actors.http_servers.streaming import upstream
from actors.http_servers.streaming.joined_streams import join
from actors.http_servers.streaming.upstream import UpstreamError, open_upstream

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SPDY = HTTPHeaders({"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "Authorization": "Bearer secret"})
SPDY.add("X-Stream-Protocol-Version", "v4.channel.k8s.io")
SPDY.add("X-Stream-Protocol-Version", "channel.k8s.io")


@contextlib.asynccontextmanager
async def runtime(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Yields the address of a server that does this with each connection."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_the_runtime_gets_the_callers_request_without_its_identity() -> None:
    heard = []

    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\nfirst frame")
        await reader.read()

    async with runtime(agree) as address:
        stream, answer = await open_upstream(f"{address}/exec/token?x=1", "POST", SPDY)
        assert (answer.status, answer.head.endswith(b"\r\n\r\n")) == (101, True)
        assert await stream.read_bytes(11) == b"first frame"
        stream.close()
    lines = heard[0].split("\r\n")
    assert lines[0] == "POST /exec/token?x=1 HTTP/1.1"
    assert [line for line in lines if line.startswith("X-Stream")] == [
        "X-Stream-Protocol-Version: v4.channel.k8s.io",
        "X-Stream-Protocol-Version: channel.k8s.io",
    ]
    assert "secret" not in heard[0]


async def test_a_runtime_that_streams_over_tls_is_joined_when_its_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, key = str(tmp_path / "chain.pem"), str(tmp_path / "key.pem")
    self_signed.create(chain, key, "runtime", ["127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(chain, key)

    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\nfirst frame")
        await reader.read()

    async with runtime(agree, tls) as address:
        with pytest.raises(UpstreamError, match="certificate verify failed"):
            await open_upstream(f"{address}/exec/x", "POST", SPDY)
        monkeypatch.setenv("SSL_CERT_FILE", chain)
        stream, answer = await open_upstream(f"{address}/exec/x", "POST", SPDY)
        assert answer.status == 101
        assert await stream.read_bytes(11) == b"first frame"
        stream.close()


async def test_a_refusal_of_the_runtime_is_reported_with_its_text() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nno token\n")
        await writer.drain()

    async with runtime(refuse) as address:
        stream, answer = await open_upstream(f"{address}/exec/x", "GET", SPDY)
        assert (answer.status, answer.body) == (404, "no token\n")
        assert stream.closed()


@pytest.mark.parametrize("said", [b"", b"SSH-2.0 hello\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * (1 << 17)])
async def test_a_runtime_with_another_protocol_is_an_error(said: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    async with runtime(talk) as address:
        with pytest.raises(UpstreamError):
            await open_upstream(f"{address}/", "GET", SPDY)


async def test_a_silent_runtime_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "HANDSHAKE_SECONDS", 0.1)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with runtime(silent) as address:
        with pytest.raises(UpstreamError):
            await open_upstream(f"{address}/", "GET", SPDY)


@pytest.mark.parametrize(
    "url", ["", "/exec/x", "https://127.0.0.1:1/x", "unix:///x", "http:///x", "http://127.0.0.1:1/x"]
)
async def test_an_address_that_leads_nowhere_is_an_error(url: str) -> None:
    with pytest.raises(UpstreamError):
        await open_upstream(url, "GET", SPDY)


class Ends:
    """Caller - joined - joined - runtime."""

    def __init__(self) -> None:
        a, b = socket.socketpair()
        c, d = socket.socketpair()
        self.caller, self.near, self.far, self.runtime = (IOStream(each) for each in (a, b, c, d))

    def join(self, idle: float = 0.0, turns: LoopTurns | None = None) -> asyncio.Task[None]:
        return asyncio.ensure_future(join(self.near, self.far, idle, turns or LoopTurns()))

    def close(self) -> None:
        for stream in (self.caller, self.near, self.far, self.runtime):
            stream.close()


@contextlib.contextmanager
def four_ends() -> Iterator[Ends]:
    found = Ends()
    try:
        yield found
    finally:
        found.close()


async def test_each_end_receives_what_the_other_sends() -> None:
    with four_ends() as ends:
        task = ends.join()
        await ends.caller.write(b"question")
        assert await ends.runtime.read_bytes(8) == b"question"
        await ends.runtime.write(b"answer")
        assert await ends.caller.read_bytes(6) == b"answer"
        ends.caller.close()
        await asyncio.wait_for(task, 5)
        with pytest.raises(StreamClosedError):
            await ends.runtime.read_bytes(1)


async def test_the_last_bytes_of_one_end_reach_the_other() -> None:
    with four_ends() as ends:
        words = b"x" * 3_000_000
        task = ends.join()
        ends.runtime.write(words).add_done_callback(lambda _: ends.runtime.close())
        assert await asyncio.wait_for(ends.caller.read_bytes(len(words)), 5) == words
        await asyncio.wait_for(task, 5)
        assert ends.near.closed()
        assert ends.far.closed()


async def test_a_caller_that_does_not_read_delays_the_runtime_and_fills_no_memory() -> None:
    with four_ends() as ends:
        task = ends.join()
        written = asyncio.ensure_future(ends.runtime.write(b"x" * (64 << 20)))
        done, _ = await asyncio.wait([written], timeout=0.5)
        assert not done
        assert len(ends.near._write_buffer) <= 1 << 20
        ends.caller.close()
        await asyncio.wait_for(task, 5)
        with pytest.raises(StreamClosedError):
            await written


async def test_an_idle_stream_times_out() -> None:
    with four_ends() as ends:
        task, started_at = ends.join(idle=1.0), time.monotonic()
        await asyncio.sleep(0.2)
        await ends.caller.write(b"still here")
        await asyncio.wait_for(task, 5)
        assert time.monotonic() - started_at >= 1.2
        assert ends.near.closed()


async def test_a_hundred_streams_with_data_at_once_leave_the_loop_to_its_timers() -> None:
    """Nine pieces in one turn, then nine in the next one, and each end gets all of it."""
    turns, words = CountedTurns(9), b"x" * 50_000
    with contextlib.ExitStack() as stack:
        all_ends = [stack.enter_context(four_ends()) for _ in range(100)]
        tasks = [ends.join(turns=turns) for ends in all_ends]
        for ends in all_ends:
            ends.caller.write(words)
        for ends in all_ends:
            assert await asyncio.wait_for(ends.runtime.read_bytes(len(words)), 10) == words
        assert max(Counter(turns.passed).values()) <= 9
        for ends in all_ends:
            ends.caller.close()
        await asyncio.wait_for(asyncio.gather(*tasks), 10)


class CountedTurns(LoopTurns):
    """Notes in which turn of the loop each caller passes."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.turn, self.passed = 0, list[int]()
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self.turn += 1
        asyncio.get_running_loop().call_soon(self._next)

    async def take(self) -> None:
        await super().take()
        self.passed.append(self.turn)
