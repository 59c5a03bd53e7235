"""Hooks: what a container answers or writes is nobody's that we know."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actors.pod_workers.executor.container_starter import ContainerStarter
from actors.pod_workers.executor.hooks import HookFailed, failure_text, run_hook
from actors.shared.cri.model import ExecResult
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    Lifecycle,
    LifecycleHandler,
    TCPSocketAction,
)
from actors.shared.kube.pod import Pod


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """The port of a server that says this to everybody."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def here() -> str:
    """The pod's address."""
    return "127.0.0.1"


async def hook(port: int | str, host: str = "") -> None:
    handler = LifecycleHandler(httpGet=HTTPGetAction(port=port, host=host))
    await run_hook(None, handler, "id", here, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("port", ["web", "\u00b2", "9" * 5_000, ""])
async def test_a_port_that_is_neither_a_number_nor_a_name_is_reported(port):
    with pytest.raises(HookFailed, match=r"^strconv\.Atoi: parsing "):
        await hook(port)


async def test_a_hook_with_tcp_socket_fails_as_the_api_documents():
    handler = LifecycleHandler(tcpSocket=TCPSocketAction(port=80))
    with pytest.raises(HookFailed) as failed:
        await run_hook(None, handler, "id", here, [])  # type: ignore[arg-type]
    text = failure_text(handler, Container(name="c"), Pod(), failed.value)
    assert text == "Cannot run handler: invalid handler: tcpSocket"


async def test_a_failed_request_has_the_error_text_of_go():
    async with answering(b"") as port:
        handler = LifecycleHandler(httpGet=HTTPGetAction(path="/x", port=port))
        with pytest.raises(HookFailed) as failed:
            await run_hook(None, handler, "id", here, [])  # type: ignore[arg-type]
    text = failure_text(handler, Container(name="c"), Pod(), failed.value)
    assert text.startswith('HTTP lifecycle hook (/x) for Container "c" in Pod "_()" failed - error: Get "http://127')


async def test_a_hook_for_which_the_agent_lacks_a_descriptor_is_sent_once_it_has_one(monkeypatch):
    connect, shortages = asyncio.open_connection, [errno.EMFILE, errno.EMFILE]

    async def connecting(*args, **options):
        if shortages:
            raise OSError(shortages.pop(), "Too many open files")
        return await connect(*args, **options)

    monkeypatch.setattr(asyncio, "open_connection", connecting)
    monkeypatch.setattr("actors.pod_workers.executor.hooks.SHORTAGE_SECONDS", 0.0)
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as port:
        await hook(port)
    assert not shortages


@pytest.mark.parametrize(("patience", "tries"), [(0.0, 1), (2.5, 3), (None, 61)])
async def test_a_hook_fails_when_no_descriptor_is_free_by_its_deadline(patience, tries):
    """Seconds of the loop pass while the hook waits; a hook without a deadline of its own is given up, too."""
    loop, waited, tried = asyncio.get_running_loop(), 0.0, 0

    async def short(*args, **options):
        nonlocal tried
        tried += 1
        raise OSError(errno.EMFILE, "Too many open files")

    async def passing(seconds):
        nonlocal waited
        waited += seconds
        assert waited < 100, "the hook is not given up"

    handler = LifecycleHandler(httpGet=HTTPGetAction(port=80))
    begun = loop.time()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio, "open_connection", short)
        patched.setattr(asyncio, "sleep", passing)
        patched.setattr(loop, "time", lambda: begun + waited)
        with pytest.raises(HookFailed, match="too many open files"):
            await run_hook(None, handler, "id", here, [], patience=patience)  # type: ignore[arg-type]
    assert tried == tries


async def test_a_hook_does_not_wait_for_a_body_that_is_announced_to_be_long():
    """As of a server that sends a file slowly: the response is there with its header."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10241\r\n\r\nthe start")
        await reader.read()
        writer.close()
        ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        await asyncio.wait_for(hook(server.sockets[0].getsockname()[1]), 20)
        await asyncio.wait_for(ended.wait(), 20)


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
async def test_the_server_gets_its_name_as_in_the_url(ip):
    told: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.extend((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    try:
        server = await asyncio.start_server(serve, ip, 0)
    except OSError as error:
        pytest.skip(f"this host has no {ip}: {error}")
    async with server:
        port = server.sockets[0].getsockname()[1]
        await hook(port, ip)
    assert (f"Host: [::1]:{port}" if ip == "::1" else f"Host: {ip}:{port}").encode() in told


@pytest.mark.parametrize("line", [b"HTTP/1.1 200 OK", b"HTTP/1.0 399", b"HTTP/1.1 404 x", b"HTTP/1.1 500 x"])
async def test_the_hook_has_run_with_any_http_status(line):
    async with answering(line + b"\r\n\r\n") as port:
        await hook(port)


@pytest.mark.parametrize(
    "answer", [b"", b"\r\n", b"HTTP/1.1 " + b"9" * 5000 + b"\r\n", b"HTTP/1.1 \xb2\r\n\r\n", b"x" * 80_000]
)
async def test_an_answer_that_is_not_http_fails_the_hook_only(answer):
    async with answering(answer) as port:
        with pytest.raises(HookFailed):
            await hook(port)


async def test_a_redirect_on_the_same_host_is_followed_to_its_end():
    async with answering(b"") as closed:
        redirect = f"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:{closed}/\r\n\r\n".encode()
        async with answering(redirect) as port:
            with pytest.raises(HookFailed):
                await hook(port)


async def test_a_server_that_speaks_http_for_https_gets_the_request_without_credentials():
    told: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(1)
        if first == b"G":
            told.append(first + await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        headers = [HTTPHeader(name="Authorization", value="secret"), HTTPHeader(name="X", value="y")]
        action = HTTPGetAction(port=port, scheme="HTTPS", httpHeaders=headers)
        hosts: list[str] = []
        handler = LifecycleHandler(httpGet=action)
        await run_hook(None, handler, "id", here, [], hosts.append)  # type: ignore[arg-type]
    (request,) = told
    assert hosts == [f"127.0.0.1:{port}"]
    assert b"X: y" in request
    assert b"Authorization" not in request


@pytest.mark.parametrize(("host", "port"), [("a..b", 80), ("x" * 300, 80), ("a\0b", 80), ("127.0.0.1", 70_000)])
async def test_an_invalid_host_is_a_failed_hook(host, port):
    with pytest.raises(HookFailed):
        await hook(port, host)


class Verbose:
    """A runtime whose commands write much."""

    def __init__(self, exit_code: int) -> None:
        self.exit_code, self.calls = exit_code, 0

    async def exec_sync(self, container_id: str, command: list[str]) -> ExecResult:
        self.calls += 1
        return ExecResult(self.exit_code, b"x" * 100_000, b"")


COMMAND = LifecycleHandler(exec=ExecAction(command=["yes"]))


@pytest.mark.parametrize("exit_code", [0, 3])
async def test_a_post_start_command_with_much_output_succeeds_by_its_exit_code(exit_code):
    runtime = Verbose(exit_code)
    starter = ContainerStarter.__new__(ContainerStarter)
    starter._client = runtime  # type: ignore[assignment]
    container = Container(name="a", lifecycle=Lifecycle(postStart=COMMAND))
    error = await starter.post_start(Pod(), container, "id", here, lambda _: None)
    assert runtime.calls == 1
    assert bool(error) == bool(exit_code)
    assert len(error) < 2000
