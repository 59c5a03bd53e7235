"""Names that probes and hooks are sent to: one that hangs in the resolver delays nobody but its own pod."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from actors.prober.tcp_probe import probe_tcp
from actors.shared.http_get.lookups import LOOKUPS, PER_OWNER, Lookups

HOSTS = 40
"""More than the threads of an event loop's own pool."""


class Resolver:
    """Names that begin with `hangs` are answered once `release` is set."""

    def __init__(self) -> None:
        self.release, self.calls = threading.Event(), list[str]()

    def __call__(self, host: str, port: Any, **_: Any) -> list[Any]:
        self.calls.append(host)
        if host.startswith("hangs"):
            self.release.wait(60)
        if host == "nobody":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))] * 2


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.release.set()


async def test_hanging_lookups_of_one_pod_delay_no_probe_of_another(resolver):
    hanging = [asyncio.ensure_future(probe_tcp(f"hangs{number}", 80, 60.0, "a")) for number in range(HOSTS)]
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await asyncio.wait_for(probe_tcp("good", port, 30.0, "b"), 30)).result == "success"
    assert sum(host.startswith("hangs") for host in resolver.calls) == PER_OWNER
    for one in hanging:
        one.cancel()
    resolver.release.set()
    await asyncio.gather(*hanging, return_exceptions=True)
    async with asyncio.timeout(30):
        while LOOKUPS._owners:  # they end in their threads, and are told to this loop
            await asyncio.sleep(0.01)


async def test_a_lookup_that_outlives_its_callers_is_shared_with_later_ones(resolver):
    own = Lookups()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await own.addresses("a", "hangs")
    late = asyncio.ensure_future(own.addresses("a", "hangs"))
    resolver.release.set()
    assert await late == ["127.0.0.1"]
    assert resolver.calls == ["hangs"]
    assert await own.addresses("a", "hangs") == ["127.0.0.1"]
    assert resolver.calls == ["hangs", "hangs"]


async def test_an_owner_without_a_running_lookup_is_forgotten(resolver):
    own = Lookups()
    with pytest.raises(socket.gaierror):
        await own.addresses("a", "nobody")
    assert await own.addresses("a", "good") == ["127.0.0.1"]
    assert own._owners == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1%lo"])
async def test_an_address_is_not_looked_up(resolver, host):
    assert await Lookups().addresses("a", host) == [host]
    assert resolver.calls == []


async def test_the_next_address_of_a_name_is_tried(monkeypatch):
    found = [(socket.AF_INET, 1, 6, "", (address, 0)) for address in ("127.0.0.2", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await probe_tcp("both", port, 30.0, "b")).result == "success"


async def test_without_a_thread_to_be_had_the_probe_fails_and_nothing_else(monkeypatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    outcome = await probe_tcp("good", 80, 5.0, "a")
    assert outcome.text == "dial tcp good:80: connect: resource temporarily unavailable"
