"""Spans of calls to a runtime, and what the runtime is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import DeadlineExceeded, RuntimeFailure
from actors.shared.cri.methods import GET_CONTAINER_EVENTS, STATUS, Method
from actors.shared.tracing.sampling import MILLION, bound_of
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.trace_context import read
from actors.shared.tracing.tracer import OFF, RecordingTracer, Tracer
from proto import cri_pb2 as cri

UNSAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


class Runtime:
    """Answers Status and gives one event, and remembers what came with the calls."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.failure: grpc.StatusCode | None = None
        self.hangs = False

    async def status(self, request: cri.StatusRequest, context: Any) -> cri.StatusResponse:
        await self._record_call(context)
        return cri.StatusResponse()

    async def events(self, request: cri.GetEventsRequest, context: Any) -> AsyncIterator[cri.ContainerEventResponse]:
        yield cri.ContainerEventResponse(container_id="c")
        await self._record_call(context)

    async def _record_call(self, context: Any) -> None:
        self.metadata.append(dict(context.invocation_metadata()))
        if self.hangs:
            await asyncio.sleep(60)
        if self.failure is not None:
            await context.abort(self.failure, "odd")


def handler(method: Method[Any, Any], behaviour: Any) -> grpc.RpcMethodHandler:
    make = grpc.unary_stream_rpc_method_handler if method.streams else grpc.unary_unary_rpc_method_handler
    return make(behaviour, method.request.FromString, method.response.SerializeToString)


@asynccontextmanager
async def client_of(runtime: Runtime, path: Path, tracer: Tracer, seconds: float = 30.0) -> AsyncIterator[CriClient]:
    server = grpc.aio.server()
    handlers = {
        "Status": handler(STATUS, runtime.status), "GetContainerEvents": handler(GET_CONTAINER_EVENTS, runtime.events),
    }  # fmt: skip
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", handlers),))
    server.add_insecure_port(f"unix://{path}/s")
    await server.start()
    client = CriClient(f"unix://{path}/s", request_seconds=seconds, tracer=tracer)
    try:
        yield client
    finally:
        await client.close()
        await server.stop(None)


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> RecordingTracer:
    return RecordingTracer(bound_of(MILLION), ended.append)


async def test_a_call_is_a_span_and_its_context_is_sent_to_the_runtime(
    tmp_path: Path, tracer: RecordingTracer, ended: list[Span]
) -> None:
    runtime = Runtime()
    async with client_of(runtime, tmp_path, tracer) as client:
        with tracer.span("syncPod"):
            await client.status()
    call, sync = ended
    assert (call.name, call.kind) == ("runtime.v1.RuntimeService/Status", Kind.CLIENT)
    assert call.parent == sync.context
    assert call.attributes == {
        "rpc.system": "grpc", "rpc.service": "runtime.v1.RuntimeService", "rpc.method": "Status",
        "rpc.grpc.status_code": 0,
    }  # fmt: skip
    told = read(runtime.metadata[0]["traceparent"])
    assert told is not None
    assert (told.trace_id, told.span_id, told.sampled) == (call.context.trace_id, call.context.span_id, True)


async def test_the_span_of_a_failed_or_late_call_has_an_error(
    tmp_path: Path, tracer: RecordingTracer, ended: list[Span]
) -> None:
    runtime = Runtime()
    async with client_of(runtime, tmp_path, tracer, seconds=0.5) as client:
        runtime.failure = grpc.StatusCode.INTERNAL
        with pytest.raises(RuntimeFailure):
            await client.status()
        runtime.hangs = True
        with pytest.raises(DeadlineExceeded):
            await client.status()
        task = asyncio.ensure_future(client.status())
        while len(runtime.metadata) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    refused, late, cancelled = ended
    assert (refused.attributes["rpc.grpc.status_code"], refused.error) == (13, "Status: odd")
    assert late.attributes["rpc.grpc.status_code"] == 4
    assert late.error is not None
    assert cancelled.attributes["rpc.grpc.status_code"] == 1


async def test_a_stream_is_a_span_until_it_ends(tmp_path: Path, tracer: RecordingTracer, ended: list[Span]) -> None:
    runtime = Runtime()
    async with client_of(runtime, tmp_path, tracer) as client:
        async for event in client.container_events():
            assert event.container_id == "c"
            assert ended == []
    (span,) = ended
    assert (span.name, span.error) == ("runtime.v1.RuntimeService/GetContainerEvents", None)
    assert runtime.metadata[0]["traceparent"].endswith("-01")


async def test_a_broken_stream_fails_its_span(tmp_path: Path, tracer: RecordingTracer, ended: list[Span]) -> None:
    runtime = Runtime()
    runtime.failure = grpc.StatusCode.INTERNAL
    async with client_of(runtime, tmp_path, tracer) as client:
        with pytest.raises(RuntimeFailure):
            async for _ in client.container_events():
                pass
    assert (ended[0].attributes["rpc.grpc.status_code"], ended[0].error) == (13, "GetContainerEvents: odd")


async def test_the_context_of_an_unsampled_trace_goes_to_the_runtime_too(
    tmp_path: Path, tracer: RecordingTracer, ended: list[Span]
) -> None:
    runtime = Runtime()
    async with client_of(runtime, tmp_path, tracer) as client:
        with tracer.within(UNSAMPLED):
            await client.status()
    assert runtime.metadata[0]["traceparent"].startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-")
    assert runtime.metadata[0]["traceparent"].endswith("-00")
    assert ended == []


async def test_no_trace_context_goes_to_the_runtime_without_tracing(tmp_path: Path) -> None:
    runtime = Runtime()
    async with client_of(runtime, tmp_path, OFF) as client:
        await client.status()
    assert "traceparent" not in runtime.metadata[0]
