"""Streams over real sockets. Those of httpcore's own backend keep the same contract."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import httpcore
import pytest

from actors.shared.api.network import MOST_UNREAD, NetworkBackend, NetworkStream, ReceivedData

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BACKENDS = [NetworkBackend, httpcore.AnyIOBackend]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Certificate of localhost, and its key."""
    home = tmp_path_factory.mktemp("pair")
    cert, key = str(home / "cert"), str(home / "key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, "-keyout", key, "-out", cert, *names], check=True, capture_output=True)
    return cert, key


def trusting(cert: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=cert)


def serving(pair: tuple[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


@asynccontextmanager
async def serve(peer: Peer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server whose connections are handled by `peer`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await peer(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def goodbye(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"bye")


async def exactly(stream: httpcore.AsyncNetworkStream, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = await stream.read(1 << 16, 5)
        assert more
        data += more
    return data


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tls", [False, True])
async def test_bytes_go_both_ways_and_the_end_is_an_empty_read(
    backend: type[httpcore.AsyncNetworkBackend], tls: bool, pair: tuple[str, str]
) -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readexactly(200_000)) * 2)

    async with serve(twice, serving(pair) if tls else None) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        if tls:
            stream = await stream.start_tls(trusting(pair[0]), "localhost", 5)
            assert stream.get_extra_info("ssl_object").version().startswith("TLS")
        await stream.write(b"a" * 100_000, 5)
        await stream.write(b"b" * 100_000, 5)
        assert await exactly(stream, 400_000) == (b"a" * 100_000 + b"b" * 100_000) * 2
        assert await stream.read(10, 5) == b""
        assert stream.get_extra_info("server_addr")[1] == port
        await stream.aclose()


async def test_a_connection_has_the_options_that_were_asked_for() -> None:
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 7)]
    async with serve(silent) as port:
        stream = await NetworkBackend().connect_tcp("127.0.0.1", port, 5, socket_options=options)
        sock = stream.get_extra_info("socket")
        assert [sock.getsockopt(level, option) for level, option, _ in options] == [1, 7]
        await stream.aclose()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_read_returns_no_more_than_it_asks_for(backend: type[httpcore.AsyncNetworkBackend]) -> None:
    async with serve(goodbye) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        assert [await stream.read(2, 5), await stream.read(2, 5), await stream.read(2, 5)] == [b"by", b"e", b""]
        await stream.aclose()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_silent_peer_ends_a_read_and_an_idle_connection_is_not_readable(
    backend: type[httpcore.AsyncNetworkBackend],
) -> None:
    async with serve(silent) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        assert not stream.get_extra_info("is_readable")
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(10, 0.05)
        await stream.aclose()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_peer_that_takes_nothing_ends_a_write(backend: type[httpcore.AsyncNetworkBackend]) -> None:
    async with serve(silent) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        with pytest.raises(httpcore.WriteTimeout):
            await fill(stream)
        await stream.aclose()


async def fill(stream: httpcore.AsyncNetworkStream) -> None:
    for _ in range(64):
        await stream.write(bytes(1 << 20), 0.2)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_port_without_a_server_is_a_connect_error(backend: type[httpcore.AsyncNetworkBackend]) -> None:
    async with serve(silent) as port:
        pass
    with pytest.raises(httpcore.ConnectError):
        await backend().connect_tcp("127.0.0.1", port, 5)
    with pytest.raises(httpcore.ConnectError):
        await backend().connect_tcp("no-such-host.invalid", port, 5)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_certificate_of_an_unknown_authority_or_another_name_is_a_connect_error(
    backend: type[httpcore.AsyncNetworkBackend], pair: tuple[str, str]
) -> None:
    async with serve(echo, serving(pair)) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        with pytest.raises(httpcore.ConnectError, match=r"self.signed certificate"):
            await stream.start_tls(ssl.create_default_context(), "localhost", 5)
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        with pytest.raises(httpcore.ConnectError, match="ostname mismatch"):
            await stream.start_tls(trusting(pair[0]), "other.example", 5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("peer", "error"), [(silent, httpcore.ConnectTimeout), (goodbye, httpcore.ConnectError)])
async def test_a_peer_that_does_not_speak_tls_ends_the_handshake(
    backend: type[httpcore.AsyncNetworkBackend], peer: Peer, error: type[Exception], pair: tuple[str, str]
) -> None:
    async with serve(peer) as port:
        stream = await backend().connect_tcp("127.0.0.1", port, 5)
        with pytest.raises(error):
            await stream.start_tls(trusting(pair[0]), "localhost", 0.3)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_tls_can_be_begun_inside_tls(backend: type[httpcore.AsyncNetworkBackend], pair: tuple[str, str]) -> None:
    """As with a server behind a proxy that speaks HTTPS."""
    async with serve(echo, serving(pair)) as inner:

        async def splice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection("127.0.0.1", inner)
            await asyncio.gather(forward(reader, back), forward(there, writer))

        async with serve(splice, serving(pair)) as port:
            outer = await backend().connect_tcp("127.0.0.1", port, 5)
            outer = await outer.start_tls(trusting(pair[0]), "localhost", 5)
            stream = await outer.start_tls(trusting(pair[0]), "localhost", 5)
            await stream.write(b"hello", 5)
            assert await stream.read(10, 5) == b"hello"
            await stream.aclose()


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("tls", [False, True])
async def test_a_connection_that_the_peer_has_closed_is_readable_so_that_it_is_not_used_again(
    tls: bool, pair: tuple[str, str]
) -> None:
    close = asyncio.Event()

    async def idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await close.wait()

    async with serve(idle, serving(pair) if tls else None) as port:
        stream = await NetworkBackend().connect_tcp("127.0.0.1", port, 5)
        if tls:
            stream = await stream.start_tls(trusting(pair[0]), "localhost", 5)
        assert not stream.get_extra_info("is_readable")
        close.set()
        await asyncio.wait_for(_until(lambda: stream.get_extra_info("is_readable")), 5)
        await stream.aclose()


async def test_a_refused_connection_has_the_cause_in_its_text() -> None:
    async with serve(silent) as port:
        pass
    with pytest.raises(httpcore.ConnectError, match=r"^connect: connection refused$"):
        await NetworkBackend().connect_tcp("127.0.0.1", port, 5)
    with pytest.raises(httpcore.ConnectError, match=r"^Name or service not known$"):
        await NetworkBackend().connect_tcp("no-such-host.invalid", port, 5)


async def test_a_peer_that_resets_the_connection_is_a_read_error() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        linger = struct.pack("ii", 1, 0)  # the connection is reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with serve(reset) as port:
        stream = await NetworkBackend().connect_tcp("127.0.0.1", port, 5)
        await stream.write(b"a" * 10_000, 5)
        with pytest.raises(httpcore.ReadError, match="reset by peer"):
            assert await stream.read(10, 5)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"a", 5)


@pytest.mark.parametrize("error", [TimeoutError(errno.ETIMEDOUT, "Connection timed out"), RuntimeError("odd")])
@pytest.mark.parametrize("timeout", [5.0, None])
async def test_a_connection_that_the_kernel_gave_up_is_a_read_error_and_no_silence(
    error: Exception, timeout: float | None
) -> None:
    """A watch that its client ends because of silence is not reported as failed."""
    received = ReceivedData()
    received.connection_lost(error)
    with pytest.raises(httpcore.ReadError, match=r"^(Connection timed out|odd)$"):
        await NetworkStream(cast(asyncio.Transport, None), received).read(10, timeout)


async def test_what_is_written_in_one_turn_goes_out_in_one_piece() -> None:
    pieces = list[bytes]()
    read = asyncio.Event()

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces.append(await reader.read(1 << 16))
        read.set()

    async with serve(note) as port:
        stream = await NetworkBackend().connect_tcp("127.0.0.1", port, 5)
        await stream.write(b"head ", 5)
        await stream.write(b"body", 5)
        await asyncio.wait_for(read.wait(), 5)
        assert pieces == [b"head body"]
        await stream.aclose()


async def test_a_peer_that_sends_more_than_is_read_has_to_wait() -> None:
    sent, waits = 0, asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while sent < 64 << 20 and not waits.is_set():
            writer.write(bytes(1 << 16))
            sent += 1 << 16
            try:
                await asyncio.wait_for(writer.drain(), 0.5)
            except TimeoutError:
                waits.set()

    async with serve(flood) as port:
        stream = await NetworkBackend().connect_tcp("127.0.0.1", port, 5)
        received = len(await stream.read(1 << 16, 5))
        await asyncio.wait_for(waits.wait(), 20)
        while more := await stream.read(1 << 20, 5):
            assert len(more) <= MOST_UNREAD + (1 << 18)
            received += len(more)
        assert received == sent
        await stream.aclose()


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)
