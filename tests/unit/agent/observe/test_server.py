"""The HTTP server of `supervise observe`: who is served what. The agent's answers are made up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from actors.agent.observe.access import SessionAccess
from actors.agent.observe.queries import AgentQueries
from actors.agent.observe.server import KEY_HEADER, PAGE, Order, application
from supervision.cli.command import NOT_RUNNING, CommandError
from supervision.protocol import Inject

Get = Callable[..., Awaitable[HTTPResponse]]


class MadeUpFacts:
    """What a tree says of itself, in short."""

    def __init__(self) -> None:
        self.down = False

    def tree(self) -> dict[str, Any]:
        if self.down:
            raise CommandError(NOT_RUNNING, "no agent is running")
        return {"tree": "of one"}

    def pods(self) -> dict[str, Any]:
        raise OSError("the disk is gone")

    def nothing(self) -> dict[str, Any]:
        return {}

    health = messages = incidents = events = nothing


class Server:
    """One that listens, and what was ordered."""

    def __init__(self, port: int, access: SessionAccess, facts: MadeUpFacts, orders: list[Inject]) -> None:
        self.port, self.access, self.facts, self.orders = port, access, facts, orders
        self.cookie = self.key = ""

    async def fetch(self, path: str, **more: Any) -> HTTPResponse:
        headers = {"Cookie": self.cookie} if self.cookie else {}
        headers |= {KEY_HEADER: self.key} if self.key else {}
        headers |= more.pop("headers", {})
        url = f"http://127.0.0.1:{self.port}{path}"
        return await AsyncHTTPClient().fetch(url, raise_error=False, follow_redirects=False, headers=headers, **more)

    async def open(self) -> HTTPResponse:
        answer = await self.fetch(f"/?token={self.access.token}")
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        self.key = answer.headers["Location"].partition("#")[2]
        return answer

    async def order(self, body: str, origin: str = "") -> HTTPResponse:
        own = origin or f"http://127.0.0.1:{self.port}"
        return await self.fetch("/inject", method="POST", body=body, headers={"Origin": own})


@asynccontextmanager
async def serving(*, read_only: bool = False) -> AsyncIterator[Server]:
    orders: list[Inject] = []

    def order(fault: Inject) -> str:
        orders.append(fault)
        return "it is done"

    sockets = bind_sockets(0, "127.0.0.1")
    access, facts = SessionAccess(), MadeUpFacts()
    made: Order | None = None if read_only else order
    server = HTTPServer(application(access, "observe-test", cast(AgentQueries, facts), made))
    server.add_sockets(sockets)
    try:
        yield Server(sockets[0].getsockname()[1], access, facts, orders)
    finally:
        server.stop()
        await server.close_all_connections()


def test_nothing_is_served_without_the_session() -> None:
    async def run() -> None:
        async with serving() as server:
            for path in ("/", "/observe.js", "/data/tree", "/data/incidents", "/nowhere", "/?token=wrong"):
                assert (await server.fetch(path)).code == 403, path
            assert (await server.order('{"name": "pleg", "fault": "crash"}')).code == 403
            assert server.orders == []

    asyncio.run(run())


def test_the_link_opens_one_browser_with_a_cookie_that_scripts_and_other_sites_do_not_get() -> None:
    async def run() -> None:
        async with serving() as server:
            answer = await server.open()
            assert (answer.code, answer.headers["Location"]) == (302, f"/#{server.access.key}")
            assert "httponly" in answer.headers["Set-Cookie"].lower()
            assert "samesite=strict" in answer.headers["Set-Cookie"].lower()
            assert (await server.fetch("/")).code == 200
            server.cookie = ""
            again = await server.fetch(f"/?token={server.access.token}")
            assert (again.code, b"This Link Has Opened A Browser Already" in again.body) == (403, True)
            assert b"Open The Link" in (await server.fetch("/?token=wrong")).body

    asyncio.run(run())


def test_who_has_the_cookie_alone_as_a_server_on_another_port_gets_no_data_and_injects_nothing() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            for key in ("", "wrong", server.access.token):
                server.key = key
                assert (await server.fetch("/data/tree")).code == 403
                assert (await server.order('{"name": "pleg", "fault": "crash"}')).code == 403
            assert server.orders == []

    asyncio.run(run())


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE"])
def test_a_preview_or_a_probe_of_the_link_does_not_spend_it(method: str) -> None:
    async def run() -> None:
        async with serving() as server:
            link = f"/?token={server.access.token}"
            assert (await server.fetch(link, method=method)).code == 403
            assert (await server.fetch(link)).code == 302

    asyncio.run(run())


def test_every_file_of_the_page_is_served_and_loads_nothing_from_elsewhere() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            for file in PAGE.iterdir():
                answer = await server.fetch("/" if file.name == "index.html" else f"/{file.name}")
                assert (answer.code, answer.body) == (200, file.read_bytes()), file.name
                assert answer.headers["Content-Security-Policy"].startswith("default-src 'none';")
                assert answer.headers["Cache-Control"] == "no-store"

    asyncio.run(run())
    for file in PAGE.iterdir():
        addresses = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in addresses, file.name
        assert "https:" not in addresses, file.name
        assert "innerHTML" not in addresses, file.name


def test_another_host_name_that_points_here_is_refused() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            answer = await server.fetch("/data/tree", headers={"Host": "evil.example"})
            assert answer.code == 421

    asyncio.run(run())


def test_data_is_json_and_an_agent_that_does_not_answer_is_reported() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            assert json.loads((await server.fetch("/data/tree")).body) == {"tree": "of one"}
            server.facts.down = True
            answer = await server.fetch("/data/tree")
            assert (answer.code, json.loads(answer.body)) == (503, {"error": "no agent is running"})
            answer = await server.fetch("/data/pods")
            assert (answer.code, json.loads(answer.body)) == (503, {"error": "the disk is gone"})

    asyncio.run(run())


def test_an_order_is_carried_out() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            answer = await server.order('{"name": "pleg", "fault": "hang"}')
            assert json.loads(answer.body) == {"done": "it is done"}
            assert server.orders == [Inject(name="pleg", fault="hang")]

    asyncio.run(run())


@pytest.mark.parametrize("body", ["", "[]", '{"name": "pleg"}', '{"name": "pleg", "fault": "love"}', "\x00"])
def test_a_bad_order_is_refused_with_a_reason(body: str) -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            answer = await server.order(body)
            assert answer.code == 400
            assert json.loads(answer.body)["error"]
            assert server.orders == []

    asyncio.run(run())


def test_an_order_from_another_page_is_refused() -> None:
    async def run() -> None:
        async with serving() as server:
            await server.open()
            answer = await server.order('{"name": "pleg", "fault": "hang"}', "http://evil.example")
            assert answer.code == 403
            assert (await server.fetch("/inject")).code == 405
            assert server.orders == []

    asyncio.run(run())


def test_a_read_only_page_injects_nothing() -> None:
    async def run() -> None:
        async with serving(read_only=True) as server:
            await server.open()
            answer = await server.order('{"name": "pleg", "fault": "hang"}')
            assert (answer.code, b"Read-Only" in answer.body) == (403, True)

    asyncio.run(run())
