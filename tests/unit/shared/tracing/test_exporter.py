"""Export to a real collector: what it takes, refuses, or is not there to take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from actors.shared.tracing.exporter import EXPORTED, GIVE_UP_SECONDS, Exporter, Source, target_of
from actors.shared.tracing.queue import BATCH_SPANS, MAX_SPANS
from actors.shared.tracing.span import Kind, Span, SpanContext
from proto import otlp_trace_pb2 as otlp
from supervision.metrics import Metrics
from tests.support.collector import Collector
from tests.support.tcp_ports import free_port

SOURCE = Source({"service.name": "kubelet"}, "pleg", "v1")
CONTEXT = SpanContext(trace_id=b"t" * 16, span_id=b"s" * 8, sampled=True)


class Exporting:
    """An exporter, its numbers, its clock."""

    def __init__(self, endpoint: str) -> None:
        self.metrics, self.now = Metrics(), 0.0
        self.exporter = Exporter(endpoint, SOURCE, self.metrics, logging.getLogger("traces"), lambda: self.now)

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            Span("s", Kind.INTERNAL, CONTEXT, None, self.exporter.queue.add).end()

    async def flush(self) -> None:
        await self.exporter.flush()

    @property
    def counted(self) -> dict[str, float]:
        samples = self.metrics.snapshot("pleg", 1).samples
        return {sample.labels.get("reason", sample.name): sample.value for sample in samples}


@asynccontextmanager
async def exporting(endpoint: str) -> AsyncIterator[Exporting]:
    made = Exporting(endpoint)
    try:
        yield made
    finally:
        await made.exporter.close()


@pytest.mark.parametrize(
    ("endpoint", "target"),
    [
        ("localhost:4317", "dns:///localhost:4317"),
        ("[::1]:4317", "dns:///[::1]:4317"),
        ("collector", "dns:///collector"),
        ("dns:collector:4317", "dns:collector:4317"),
        ("unix:///run/otel.sock", "unix:///run/otel.sock"),
        ("unix-abstract:otel", "unix-abstract:otel"),
    ],
)
def test_an_endpoint_without_a_scheme_is_a_name_and_a_port(endpoint: str, target: str) -> None:
    assert target_of(endpoint) == target


async def test_spans_arrive_in_batches_with_their_resource() -> None:
    with Collector() as collector:
        async with exporting(collector.endpoint) as one:
            one.add(BATCH_SPANS + 1)
            await one.flush()
            assert (collector.requests, len(collector.spans)) == (2, BATCH_SPANS + 1)
            assert (collector.spans[0].resource, collector.spans[0].scope) == ({"service.name": "kubelet"}, "pleg")
            assert one.counted == {EXPORTED: BATCH_SPANS + 1}


async def test_a_collector_may_listen_on_a_unix_socket(tmp_path: Path) -> None:
    with Collector(f"unix:{tmp_path}/s") as collector:
        async with exporting(f"unix://{tmp_path}/s") as one:
            one.add()
            await one.flush()
            assert len(collector.spans) == 1


async def test_no_connection_is_opened_without_spans() -> None:
    async with exporting("localhost:1") as one:
        await one.flush()
        assert one.exporter._channel is None


async def test_a_missing_collector_is_reported_once_and_costs_only_spans(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with exporting(f"127.0.0.1:{free_port()}") as one:
        one.add(MAX_SPANS)
        await one.flush()
        one.add(BATCH_SPANS + 5)  # one batch is in hand, so as much fits again
        await one.flush()
        assert (one.counted, len(one.exporter.queue)) == ({"queue_full": 5}, MAX_SPANS)
    assert [record.message.partition(" at ")[0] for record in caplog.records] == ["traces: the collector"]


async def test_waiting_spans_are_sent_when_the_collector_is_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    port = free_port()
    async with exporting(f"127.0.0.1:{port}") as one:
        one.add(3)
        await one.flush()
        with Collector(f"127.0.0.1:{port}") as collector:
            one.add()
            await until_exported(one, 4)
            assert len(collector.spans) == 4
        assert "takes spans again" in caplog.messages[-1]


async def until_exported(one: Exporting, spans: int) -> None:
    """gRPC waits before it connects again."""
    async with asyncio.timeout(60):
        while one.counted.get(EXPORTED) != spans:
            await one.flush()
            await asyncio.sleep(0.05)


async def test_a_batch_is_dropped_after_a_minute_in_favour_of_later_ones() -> None:
    async with exporting(f"127.0.0.1:{free_port()}") as one:
        one.add(2)
        await one.flush()
        one.now = GIVE_UP_SECONDS - 1
        await one.flush()
        assert one.counted == {}
        one.now = GIVE_UP_SECONDS
        await one.flush()
        assert one.counted == {"away": 2}


async def test_spans_that_a_collector_refuses_are_not_sent_again() -> None:
    def refuse(context: grpc.ServicerContext) -> otlp.ExportTraceServiceResponse:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "odd")

    with Collector() as collector:
        collector.answer = refuse
        async with exporting(collector.endpoint) as one:
            one.add(BATCH_SPANS + 1)
            await one.flush()
            assert one.counted == {"refused": BATCH_SPANS + 1}
            collector.answer = lambda _: otlp.ExportTraceServiceResponse()
            one.add()
            await one.flush()
            assert (one.counted[EXPORTED], len(collector.spans)) == (1, 1)


async def test_partly_accepted_spans_are_counted_separately(caplog: pytest.LogCaptureFixture) -> None:
    partial = otlp.ExportTracePartialSuccess(rejected_spans=2, error_message="too old")
    with Collector() as collector:
        collector.answer = lambda _: otlp.ExportTraceServiceResponse(partial_success=partial)
        async with exporting(collector.endpoint) as one:
            one.add(5)
            await one.flush()
            assert one.counted == {EXPORTED: 3, "refused": 2}
    assert caplog.messages[-1].endswith("refused 2 spans: too old")
