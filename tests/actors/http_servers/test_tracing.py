"""Spans of requests: of those that are let in, and whose children they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tornado.netutil import bind_sockets

from actors.config_controller.messages import Configz
from actors.http_servers.access.access import AccessCheck, OpenAccess
from actors.http_servers.access.authorization import Denial
from actors.http_servers.endpoints import ENDPOINTS
from actors.http_servers.serving.connections import BoundedServer
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.routes import application
from actors.http_servers.serving.server_state import ServerState
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.tracing.sampling import MILLION, bound_of
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.tracer import OFF, RecordingTracer, Tracer, traceparent_of_current
from supervision.actor import AskError
from supervision.metrics import Metrics

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"traceparent: 00-{TRACE}-{CALLER}-01"


class Asked:
    """All that a page needs of its actor here."""

    name, incarnation, log = "http_servers/node_server", 1, logging.getLogger("test")
    context = Agent()

    def __init__(self) -> None:
        self.metrics = Metrics()

    def work_for(self, label: str, *, allowance_seconds: float) -> None:
        pass

    async def ask(self, name: str, *_: Any, **__: Any) -> Any:
        if name == "config_controller":
            return Configz(b"{}")
        raise AskError("nobody is there")


class Nobody:
    """Lets nobody in."""

    health_is_open = False

    async def check(self, request: Any) -> Denial:
        return Denial(403, "Forbidden")


async def current(handler: ServerHandler) -> None:
    """The span of the moment."""
    await asyncio.sleep(0)
    handler.finish(traceparent_of_current() or "nothing")


async def broken(handler: ServerHandler) -> None:
    raise ValueError("odd")


MORE = (
    Endpoint(paths=("/current",), answers={"GET": current}, on_read_only_server=True),
    Endpoint(paths=("/broken",), answers={"GET": broken}, on_read_only_server=True),
)


@asynccontextmanager
async def serving(tracer: Tracer, *, access: AccessCheck | None = None, main: bool = True) -> AsyncIterator[int]:
    state = ServerState(Asked(), access or OpenAccess(), read_only=not main, tracer=tracer)  # type: ignore[arg-type]
    server = BoundedServer(application(state, (*ENDPOINTS, *MORE), KubeletConfiguration()))
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    try:
        yield sockets[0].getsockname()[1]
    finally:
        server.stop()
        await server.close_all_connections()


async def get(port: int, path: str, *headers: str) -> str:
    """The body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1", "Host: n", "Connection: close", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return answer.decode().partition("\r\n\r\n")[2]


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> RecordingTracer:
    return RecordingTracer(bound_of(None), ended.append)


@pytest.fixture
def every(ended: list[Span]) -> RecordingTracer:
    return RecordingTracer(bound_of(MILLION), ended.append)


async def test_a_request_is_a_span_of_its_callers_trace(tracer: RecordingTracer, ended: list[Span]) -> None:
    async with serving(tracer) as port:
        await get(port, "/configz?x=secret", PARENT, "User-Agent: test")
    (span,) = ended
    assert (span.name, span.kind, span.error) == ("/configz", Kind.SERVER, None)
    assert (span.context.trace_id.hex(), span.parent and span.parent.span_id.hex()) == (TRACE, CALLER)
    assert span.attributes == {
        "http.request.method": "GET", "http.route": "/configz", "url.path": "/configz", "url.scheme": "http",
        "client.address": "127.0.0.1", "user_agent.original": "test", "http.response.status_code": 200,
    }  # fmt: skip


async def test_the_work_for_a_page_is_in_the_span_of_its_request(tracer: RecordingTracer, ended: list[Span]) -> None:
    async with serving(tracer) as port:
        bodies = await asyncio.gather(get(port, "/current", PARENT), get(port, "/current"))
    (span,) = ended
    assert bodies[0] == f"00-{TRACE}-{span.context.span_id.hex()}-01"
    assert bodies[1].endswith("-00")


async def test_without_a_caller_the_rate_decides(tracer: RecordingTracer, ended: list[Span]) -> None:
    async with serving(tracer) as port:
        await get(port, "/configz")
        await get(port, "/configz", "traceparent: odd")
        await get(port, "/configz", PARENT[:-1] + "0")
    assert ended == []


async def test_spans_of_failures_and_unknown_paths_have_an_error_status(
    every: RecordingTracer, ended: list[Span]
) -> None:
    async with serving(every) as port:
        for path in ("/broken", "/pods", "/no/where", "/containerLogs/d/p/c"):
            await get(port, path)
    assert [(span.name, span.attributes["http.response.status_code"], span.error) for span in ended] == [
        ("/broken", 500, "HTTP 500"), ("/pods", 503, "HTTP 503"), ("HTTP GET", 404, None),
        ("/containerLogs", 503, "HTTP 503"),
    ]  # fmt: skip


async def test_an_unauthorized_request_makes_no_span(every: RecordingTracer, ended: list[Span]) -> None:
    async with serving(every, access=Nobody()) as port:
        assert await get(port, "/configz", PARENT) == "Forbidden"
    assert ended == []


async def test_a_caller_of_the_read_only_server_does_not_decide_sampling_and_is_linked(
    tracer: RecordingTracer, every: RecordingTracer, ended: list[Span]
) -> None:
    async with serving(tracer, main=False) as port:
        await get(port, "/current", PARENT)
    assert ended == []
    async with serving(every, main=False) as port:
        await get(port, "/current", PARENT)
    (span,) = ended
    assert (span.parent, [link.span_id.hex() for link in span.links]) == (None, [CALLER])
    assert span.context.trace_id.hex() != TRACE


async def test_no_span_is_open_without_tracing() -> None:
    async with serving(OFF) as port:
        assert await get(port, "/current", PARENT) == "nothing"
