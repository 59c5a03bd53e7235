"""What callers send, and how many there are: the server with bounds, without actors."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from actors.http_servers.access.access import OpenAccess
from actors.http_servers.endpoints import ENDPOINTS
from actors.http_servers.serving import connections
from actors.http_servers.serving.client_faults import BURST, CLIENT_FAULTS, limit_lines
from actors.http_servers.serving.connections import BoundedServer
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import EndpointHandler, ServerHandler
from actors.http_servers.serving.request_heads import MAX_LINES, UNAUTHENTICATED_BYTES
from actors.http_servers.serving.request_metrics import OTHER, label
from actors.http_servers.serving.routes import application
from actors.http_servers.serving.server_state import ServerState
from actors.shared.config.agent import Agent
from supervision.metrics import Metrics
from tests.support.certificates import Authority
from tests.support.examples import examples

pytestmark = pytest.mark.slow


class Knows(RequestHandler):
    """/in/USER gets in, anything else does not."""

    def get(self) -> None:
        _, place, *user = self.request.path.split("/")
        if place == "in":
            self.settings["server"].authenticated(self.request.connection.stream, *user)  # type: ignore[union-attr]
        self.finish("ok")


@contextlib.asynccontextmanager
async def serving(paths: Application, **bounds: Any) -> AsyncIterator[tuple[BoundedServer, int]]:
    server = paths.settings["server"] = BoundedServer(paths, **bounds)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    try:
        yield server, sockets[0].getsockname()[1]
    finally:
        server.stop()
        await server.close_all_connections()


async def is_open(reader: asyncio.StreamReader) -> bool:
    """Whether nothing ends it within a moment."""
    try:
        return bool(await asyncio.wait_for(reader.read(1), 0.3))
    except TimeoutError:
        return True
    except ConnectionError:
        return False


async def ask(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: n\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"ok"), 5)
    assert head.startswith(b"HTTP/1.1 200")
    return reader, writer


async def test_silent_callers_lock_no_other_out() -> None:
    async with serving(Application([(".*", Knows)]), max_unauthenticated=3) as (_, port):
        first = await ask(port, "/in/a")
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        later = await ask(port, "/out")
        states = [await is_open(reader) for reader, _ in silent]
        assert states == [False, False, False, True, True]
        assert await is_open(first[0])
        for _, writer in [first, later, *silent]:
            writer.close()


async def test_a_caller_that_has_sent_something_keeps_its_place_before_silent_ones() -> None:
    async with serving(Application([(".*", Knows)]), max_unauthenticated=2) as (_, port):
        slow = await asyncio.open_connection("127.0.0.1", port)
        slow[1].write(b"GET /out HTTP/1.1\r\n")
        silent = await asyncio.open_connection("127.0.0.1", port)
        later = await ask(port, "/out")
        assert not await is_open(silent[0])
        slow[1].write(b"Host: n\r\n\r\n")
        assert (await asyncio.wait_for(slow[0].readuntil(b"ok"), 5)).startswith(b"HTTP/1.1 200")
        for _, writer in (slow, silent, later):
            writer.close()


async def test_handshakes_end_before_more_callers_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when 200 streams are asked for in one moment. Two callers have sent the start of a handshake."""
    monkeypatch.setattr(connections, "HANDSHAKE_SECONDS", 60.0)
    context, trusting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    context.load_cert_chain(*Authority(tmp_path).client("n"))
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with serving(Application([(".*", Knows)]), max_unauthenticated=2, ssl_options=context) as (_, port):
        first, second = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in (first, second):
            writer.write(b"\x16\x03\x01")
        third = asyncio.ensure_future(asyncio.open_connection("127.0.0.1", port, ssl=trusting))
        assert [await is_open(reader) for reader, _ in (first, second)] == [True, True]
        assert not third.done()
        first[1].close()
        reader, writer = await asyncio.wait_for(third, 5)
        writer.write(b"GET /in/a HTTP/1.1\r\nHost: n\r\n\r\n")
        assert (await asyncio.wait_for(reader.readuntil(b"ok"), 5)).startswith(b"HTTP/1.1 200")
        assert await is_open(second[0])
        for one in (second[1], writer):
            one.close()


async def test_one_users_connections_take_no_place_of_another_users() -> None:
    async with serving(Application([(".*", Knows)]), max_authenticated=3) as (_, port):
        greedy = [await ask(port, "/in/a") for _ in range(3)]
        other = await ask(port, "/in/b")
        greedy += [await ask(port, "/in/a") for _ in range(3)]
        states = [await is_open(reader) for reader, _ in greedy]
        assert states == [False, False, False, False, True, True]
        assert await is_open(other[0])
        for _, writer in [*greedy, other]:
            writer.close()


async def test_a_head_of_too_many_lines_is_refused_before_they_are_read() -> None:
    async with serving(Application([(".*", Knows)])) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /out HTTP/1.1\r\nHost: n\r\n" + b"a:\r\n" * MAX_LINES + b"\r\n")
        assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 431 ")
        writer.close()
        _, writer = await ask(port, "/out")
        writer.close()


class Told(BoundedServer):
    """Tells when a connection has begun, and when it has ended."""

    def initialize(self, *args: Any, **more: Any) -> None:
        super().initialize(*args, **more)
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        super().handle_stream(stream, address)
        self.begun.set()

    def on_close(self, server_conn: Any) -> None:
        super().on_close(server_conn)
        self.ended.set()


@pytest.mark.parametrize("late", [False, True])
async def test_a_handshake_that_fails_is_no_error_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, late: bool
) -> None:
    """`late`: the server waits for it already."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*Authority(tmp_path).client("n"))
    server = Told(Application([(".*", Knows)]), ssl_options=context)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    with socket.create_connection(sockets[0].getsockname()) as client:
        if late:
            await asyncio.wait_for(server.begun.wait(), 20)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(server.ended.wait(), 20)
    server.stop()
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.WARNING] == []


async def test_only_authenticated_clients_may_send_long_heads() -> None:
    long = b"GET /out HTTP/1.1\r\nHost: n\r\nX: " + b"x" * UNAUTHENTICATED_BYTES + b"\r\n\r\n"
    async with serving(Application([(".*", Knows)])) as (_, port):
        stranger = await ask(port, "/out")
        known = await ask(port, "/in/a")
        for _, writer in (stranger, known):
            writer.write(long)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(stranger[0].read(), 5) == b""
        assert (await asyncio.wait_for(known[0].readuntil(b"ok"), 5)).startswith(b"HTTP/1.1 200")
        for _, writer in (stranger, known):
            writer.close()


async def test_long_heads_that_never_end_fill_no_memory() -> None:
    """The oldest is refused, and a connection whose long head has ended counts no more."""
    begun = b"GET /in/a HTTP/1.1\r\nHost: n\r\nX: " + b"x" * 100_000
    async with serving(Application([(".*", Knows)]), max_long_heads_bytes=250_000) as (_, port):
        callers = [await ask(port, "/in/a") for _ in range(4)]
        done, oldest, next_one, newest = callers
        done[1].write(begun + b"\r\n\r\n")
        assert (await asyncio.wait_for(done[0].readuntil(b"ok"), 5)).startswith(b"HTTP/1.1 200")
        for reader, writer in (oldest, next_one):
            writer.write(begun)
            await writer.drain()
            assert await is_open(reader)
        newest[1].write(begun)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(oldest[0].read(), 5) == b""
        for reader, writer in (next_one, newest):
            writer.write(b"\r\n\r\n")
            assert (await asyncio.wait_for(reader.readuntil(b"ok"), 5)).startswith(b"HTTP/1.1 200")
        for _, writer in callers:
            writer.close()


async def large(handler: ServerHandler) -> None:
    """A page of 32 MiB."""
    await handler.finish(bytes(32 << 20))


async def unread(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that has asked for the page and reads its first bytes only."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=1024)
    writer.write(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n")
    assert (await asyncio.wait_for(reader.readexactly(12), 10)) == b"HTTP/1.1 200"
    return reader, writer


async def test_callers_that_do_not_read_their_answers_fill_no_memory() -> None:
    actor = Silent()
    state = ServerState(actor, OpenAccess())  # type: ignore[arg-type]
    page = {"state": state, "endpoint": Endpoint(paths=("/",), answers={"GET": large})}
    paths = Application([("/", EndpointHandler, page)])
    async with serving(paths, max_unread_bytes=80 << 20) as (server, port):
        state.connections = server
        callers = [await unread(port) for _ in range(3)]
        with contextlib.suppress(ConnectionError):
            assert len(await asyncio.wait_for(callers[0][0].read(), 20)) < 32 << 20
        for reader, _ in callers[1:]:
            assert len(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)) > 0
            assert len(await asyncio.wait_for(reader.readexactly(32 << 20), 20)) == 32 << 20
        for _, writer in callers:
            writer.close()


class Paced(RequestHandler):
    """Answers one request at a time, when it is let."""

    begun: asyncio.Queue[asyncio.Event]

    async def get(self) -> None:
        let = asyncio.Event()
        self.settings["begun"].put_nowait(let)
        await let.wait()
        self.finish(bytes(1 << 20))


async def test_pipelined_requests_of_a_gone_client_are_not_answered() -> None:
    begun: asyncio.Queue[asyncio.Event] = asyncio.Queue()
    paths = Application([(".*", Paced)], begun=begun)
    server = Told(paths)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    with socket.create_connection(sockets[0].getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n" * 100)
        let = await asyncio.wait_for(begun.get(), 5)
    let.set()
    answered = 1
    while not server.ended.is_set():
        with contextlib.suppress(TimeoutError):
            (await asyncio.wait_for(begun.get(), 0.1)).set()
            answered += 1
    assert answered < 5  # the first answers may still be written to a socket of which the other end is closed
    server.stop()


class Endless(RequestHandler):
    """Never answers by itself, as a log that is followed."""

    async def get(self) -> None:
        self.settings["begun"].set()
        await asyncio.get_running_loop().create_future()

    def on_connection_close(self) -> None:
        self.settings["left"].set()


@pytest.mark.parametrize("more", [b"", b"x", b"GET / HTTP/1.1\r\nHost: n\r\n\r\n"])
async def test_an_answer_ends_with_its_client_whatever_that_sent_in_advance(more: bytes) -> None:
    begun, left = asyncio.Event(), asyncio.Event()
    async with serving(Application([(".*", Endless)], begun=begun, left=left), poll_seconds=0.1) as (_, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n" + more)
        await asyncio.wait_for(begun.wait(), 5)
        writer.close()
        await asyncio.wait_for(left.wait(), 10)


class Exhausted:
    """A listening socket whose accept has no descriptors for a while."""

    def __init__(self, sock: socket.socket, times: int) -> None:
        self._sock, self.times, self.tried = sock, times, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def accept(self) -> Any:
        self.tried += 1
        if self.tried <= self.times:
            raise OSError(errno.EMFILE, "too many open files")
        return self._sock.accept()


async def test_a_server_without_descriptors_waits_and_continues() -> None:
    paths = Application([(".*", Knows)])
    server = paths.settings["server"] = BoundedServer(paths)
    (sock,) = bind_sockets(0, "127.0.0.1")
    exhausted = Exhausted(sock, 3)
    server.add_sockets([exhausted])  # type: ignore[list-item]
    _, writer = await ask(sock.getsockname()[1], "/in/a")
    assert 3 < exhausted.tried < 8
    writer.close()
    server.stop()


class Silent:
    """All that a page needs of its actor here."""

    name, incarnation, log = "http_servers/node_server", 1, logging.getLogger("test")
    context = Agent(root_dir="/nonexistent")

    def __init__(self) -> None:
        self.metrics = Metrics()

    def work_for(self, label: str, *, allowance_seconds: float) -> None:
        pass

    async def ask(self, *_: Any, **__: Any) -> Any:
        from supervision.actor import AskError

        raise AskError("nobody is there")


async def answered(requests: list[bytes]) -> tuple[list[bytes], Metrics]:
    actor = Silent()
    paths = application(ServerState(actor, OpenAccess()), ENDPOINTS, actor.context.config)  # type: ignore[arg-type]
    heads = []
    async with serving(paths) as (_, port):
        for request in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            heads.append(await asyncio.wait_for(reader.read(), 5))
            writer.close()
    return heads, actor.metrics


class Slow(OpenAccess):
    """Its check does not end."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def check(self, request: HTTPServerRequest) -> Any:
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.ended.set()


async def test_the_check_of_a_caller_that_is_gone_ends() -> None:
    actor, access = Silent(), Slow()
    paths = application(ServerState(actor, access), ENDPOINTS, actor.context.config)  # type: ignore[arg-type]
    async with serving(paths) as (_, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /pods HTTP/1.1\r\nHost: n\r\n\r\n")
        await asyncio.wait_for(access.begun.wait(), 5)
        writer.close()
        await asyncio.wait_for(access.ended.wait(), 5)
    inflight = [sample.value for sample in actor.metrics.snapshot("a", 1).samples if "inflight" in sample.name]
    assert inflight == [0]


ODD = [
    b"*",
    b"?x",
    b"foo",
    b"x:1",
    b"//",
    b"/%ff",
    b"/%00",
    b"/../etc",
    b"/healthz/%2e%2e",
    b"/pods?%",
    b"/metrics/x/y",
]


@pytest.mark.parametrize("target", ODD)
def test_a_malformed_target_is_answered_and_counted(target, caplog):
    with caplog.at_level(logging.ERROR):
        (head,), metrics = asyncio.run(
            answered([b"GET " + target + b" HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"])
        )
    assert head.startswith(b"HTTP/1.1 ")
    assert 200 <= int(head[9:12]) < 600
    assert "Traceback" not in caplog.text
    assert any(sample.name == "kubelet_http_requests_total" for sample in metrics.snapshot("a", 1).samples)


token = st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=1, max_size=9).map(str.encode)
printable = st.binary(max_size=40).map(lambda raw: bytes(byte for byte in raw if 32 < byte < 256))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(token, printable), max_size=20))
def test_no_request_line_makes_an_exception_or_a_new_series(lines):
    requests = [
        method + b" /" + target + b" HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n" for method, target in lines
    ]
    heads, metrics = asyncio.run(answered(requests))
    for head in heads:
        assert not head or head.startswith(b"HTTP/1.1 ")
    methods = {sample.labels["method"] for sample in metrics.snapshot("a", 1).samples}
    assert methods <= {"GET", "HEAD", "POST", "DELETE", "PATCH", "PUT", "OPTIONS", "other"}
    paths = {sample.labels["path"] for sample in metrics.snapshot("a", 1).samples}
    assert paths <= {label(endpoint.prefix) for endpoint in ENDPOINTS} | {OTHER}
    inflight = [sample.value for sample in metrics.snapshot("a", 1).samples if "inflight" in sample.name]
    assert not any(inflight)


async def test_a_malformed_body_and_an_unknown_method_write_short_lines_of_a_limited_number(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no access."""
    caplog.set_level(logging.INFO)
    body = b"--a\r\n"
    head = f"Host: n\r\nContent-Type: multipart/form-data; boundary=a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    requests = [b"POST /" + b"x" * 30_000 + b" HTTP/1.1\r\n" + head + body, b"FOO /x HTTP/1.1\r\nHost: n\r\n\r\n"]
    monkeypatch.setattr(CLIENT_FAULTS, "filters", [])  # this process may have met other clients before
    limit_lines()
    actor = Silent()
    paths = application(ServerState(actor, OpenAccess()), ENDPOINTS, actor.context.config)  # type: ignore[arg-type]
    async with serving(paths) as (_, port):
        for request in requests * BURST:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            assert (await asyncio.wait_for(reader.readline(), 5)).split()[1] in (b"400", b"405")
            writer.close()
    found = [one for one in caplog.records if one.levelno >= logging.INFO]
    assert BURST <= len(found) <= BURST + 2
    assert all(len(one.getMessage()) < 1000 for one in found)
