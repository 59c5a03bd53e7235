"""Spans of requests to the API server, and what the server is told of them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from actors.shared.api.access import ServerAccess
from actors.shared.api.client import ApiClient, ClientTelemetry
from actors.shared.api.errors import NotFound, Unreachable
from actors.shared.tracing.sampling import MILLION, bound_of
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.trace_context import read
from actors.shared.tracing.tracer import OFF, RecordingTracer
from tests.support.apiserver import Answer, ApiServer, Reply, Request, Stream


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> RecordingTracer:
    return RecordingTracer(bound_of(MILLION), ended.append)


def client_of(server: ApiServer, tracer: RecordingTracer | None, timeout: float = 10.0) -> ApiClient:
    access = ServerAccess(server=server.url, ca=server.authority.path.read_bytes())
    return ApiClient(access, timeout=timeout, telemetry=ClientTelemetry(tracer=tracer or OFF))


async def ok(request: Request) -> Reply:
    return Answer(200, b"{}")


async def test_a_request_is_a_span_whose_context_the_server_gets(
    tmp_path: Path, tracer: RecordingTracer, ended: list[Span]
) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = client_of(server, tracer)
        with tracer.span("outer"):
            await client.call("GET", "/api/v1/pods", query={"fieldSelector": "x"})
        await client.close()
    span, outer = ended
    assert (span.name, span.kind, span.error, span.parent) == ("HTTP GET", Kind.CLIENT, None, outer.context)
    assert span.attributes == {
        "http.request.method": "GET", "url.path": "/api/v1/pods", "http.response.status_code": 200,
        "server.address": f"127.0.0.1:{server.port}",
    }  # fmt: skip
    told = read(server.requests[0].headers["traceparent"])
    assert told is not None
    assert (told.trace_id, told.span_id) == (span.context.trace_id, span.context.span_id)


async def test_a_refusal_is_a_failure_of_its_span(tmp_path: Path, tracer: RecordingTracer, ended: list[Span]) -> None:
    async def refuse(request: Request) -> Reply:
        return Answer(404, b"{}")

    async with ApiServer(tmp_path, refuse) as server:
        client = client_of(server, tracer)
        with pytest.raises(NotFound):
            await client.call("GET", "/x")
        await client.close()
    (span,) = ended
    assert (span.attributes["http.response.status_code"], span.error) == (404, "HTTP 404")


async def test_a_server_that_does_not_answer_is_a_failure_of_its_span(
    tmp_path: Path, tracer: RecordingTracer, ended: list[Span]
) -> None:
    async def silent(request: Request) -> Reply:
        await asyncio.sleep(30)
        return Answer()

    async with ApiServer(tmp_path, silent) as server:
        client = client_of(server, tracer, timeout=0.3)
        with pytest.raises(Unreachable):
            await client.call("GET", "/x")
        await client.close()
    (span,) = ended
    assert span.error is not None
    assert "http.response.status_code" not in span.attributes


async def test_a_watch_is_a_span_until_it_ends(tmp_path: Path, tracer: RecordingTracer, ended: list[Span]) -> None:
    async def one_event(request: Request) -> Reply:
        return Stream.of({"type": "ADDED", "object": {"kind": "Pod"}})

    async with ApiServer(tmp_path, one_event) as server:
        client = client_of(server, tracer)
        async with aclosing(client.watch("/w", {})) as events:
            async for event in events:
                assert event.type == "ADDED"
                assert ended == []
        await client.close()
    (span,) = ended
    assert (span.name, span.error, span.attributes["url.path"]) == ("HTTP GET", None, "/w")


async def test_requests_have_no_trace_headers_without_tracing(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = client_of(server, None)
        await client.call("GET", "/x")
        await client.close()
    assert "traceparent" not in server.requests[0].headers
