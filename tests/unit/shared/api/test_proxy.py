"""Ways through a proxy: which one, and real ones of each kind in front of a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore
import pytest

from actors.shared.api.access import ServerAccess
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import Unreachable
from actors.shared.api.proxy import ProxyBackend, proxy_for
from tests.support.apiserver import Answer, ApiServer, Reply, Request

PROXIED = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,.corp.example,exact.example:6443,*.wild.example"}


@pytest.mark.parametrize(
    ("server", "proxied"),
    [
        ("https://api.example:6443", True),
        ("https://10.1.2.3:6443", False),
        ("https://11.1.2.3:6443", True),
        ("https://a.corp.example", False),
        ("https://corp.example", True),
        ("https://exact.example:6443", False),
        ("https://exact.example:443", True),
        ("https://sub.exact.example:6443", False),
        ("https://x.wild.example", False),
        ("https://localhost:6443", False),
        ("https://127.0.0.1:6443", False),
        ("https://[::1]:6443", False),
        ("http://api.example", False),
    ],
)
def test_the_environment_decides_which_servers_are_reached_by_a_proxy(server: str, proxied: bool) -> None:
    assert proxy_for(server, "", PROXIED) == ("http://p:1" if proxied else "")


def test_the_kubeconfig_wins_and_a_scheme_may_be_left_out() -> None:
    assert proxy_for("https://10.1.2.3", "socks5://q:2", PROXIED) == "socks5://q:2"
    assert proxy_for("https://x", "", {"https_proxy": "p:3128"}) == "http://p:3128"
    assert proxy_for("https://x", "", {"HTTPS_PROXY": "p:1", "NO_PROXY": "*"}) == ""


class Below(httpcore.AsyncMockBackend):
    """Proxies with these answers; `connected` has their addresses, `written` what they got."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__(list(answers))
        self.connected: list[tuple[str, int]] = []
        self.written: list[bytes] = []

    async def connect_tcp(self, host: str, port: int, *options: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        stream = await super().connect_tcp(host, port)

        async def write(buffer: bytes, timeout: float | None = None) -> None:
            self.written.append(buffer)

        stream.write = write  # type: ignore[method-assign]
        return stream


@pytest.mark.parametrize(
    ("proxy", "port"),
    [("http://p", 80), ("https://p", 443), ("socks5://p", 1080), ("socks5://p:7", 7), ("http://p:8", 8)],
)
async def test_a_proxy_without_a_port_has_that_of_its_scheme(proxy: str, port: int) -> None:
    below = Below()
    with pytest.raises(httpcore.ProxyError):
        await ProxyBackend(proxy, below).connect_tcp("api.example", 6443)
    assert below.connected == [("p", port)]


@pytest.mark.parametrize(
    ("proxy", "offered"), [("socks5://p", b"\x05\x01\x00"), ("socks5://user:pass@p", b"\x05\x02\x00\x02")]
)
async def test_a_socks_proxy_is_offered_a_login_where_there_is_one(proxy: str, offered: bytes) -> None:
    """It may do without (method 0)."""
    below = Below(b"\x05\x00", b"\x05\x00\x00\x01", bytes(6))
    await ProxyBackend(proxy, below).connect_tcp("api.example", 6443)
    assert below.written == [offered, b"\x05\x01\x00\x03\x0bapi.example" + (6443).to_bytes(2, "big")]


@pytest.mark.parametrize("answer", [b"\x05\x02", b"\x05\xff", b"\x04\x00"])
async def test_a_socks_proxy_that_wants_what_was_not_offered_is_an_error(answer: bytes) -> None:
    with pytest.raises(httpcore.ProxyError, match="no supported authentication method"):
        await ProxyBackend("socks5://p", Below(answer)).connect_tcp("api.example", 6443)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def splice(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    there, back = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(pump(reader, back), pump(there, writer))


@asynccontextmanager
async def proxy(kind: str, seen: list[bytes]) -> AsyncIterator[str]:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head)
        if b"Basic dXNlcjpwYXNz" not in head:
            writer.write(b"HTTP/1.1 407 Who are you\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n")
        await splice(int(head.split(b" ")[1].rsplit(b":", 1)[1]), reader, writer)

    async def socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        seen.append(await reader.readexactly(count))
        writer.write(b"\x05\x02")
        await reader.readexactly(1)
        name = await reader.readexactly((await reader.readexactly(1))[0])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        good = (name, password) == (b"user", b"pass")
        writer.write(b"\x01\x00" if good else b"\x01\x01")
        if not good:
            writer.close()
            return
        kind = (await reader.readexactly(4))[3]
        host = await reader.readexactly(4 if kind == 1 else (await reader.readexactly(1))[0])
        port = int.from_bytes(await reader.readexactly(2), "big")
        seen.append(host)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await splice(port, reader, writer)

    server = await asyncio.start_server(http if kind == "http" else socks, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def ok(request: Request) -> Reply:
    return Answer(200, b'{"a":1}')


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_calls_go_through_the_proxy_and_only_the_server_sees_the_token(tmp_path: Path, kind: str) -> None:
    seen: list[bytes] = []
    async with ApiServer(tmp_path, ok) as server, proxy(kind, seen) as place:
        access = ServerAccess(
            server=server.url,
            ca=server.authority.path.read_bytes(),
            token="secret",
            proxy=f"{kind}://user:pass@{place}",
        )
        client = ApiClient(access)
        for _ in range(2):
            assert (await client.call("GET", "/x")).body == b'{"a":1}'
        await client.close()
    assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert server.connections == 1
    assert seen
    assert not any(b"secret" in each for each in seen)


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_refuses_is_reported(tmp_path: Path, kind: str) -> None:
    async with ApiServer(tmp_path, ok) as server, proxy(kind, []) as place:
        access = ServerAccess(server=server.url, insecure=True, proxy=f"{kind}://user:wrong@{place}")
        client = ApiClient(access)
        with pytest.raises(Unreachable, match=r"407|refuses the user"):
            await client.call("GET", "/x")
        await client.close()
