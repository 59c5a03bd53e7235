"""Exports spans to a collector: OTLP over gRPC, plaintext, in batches. While the collector is unreachable spans are
lost, nothing else."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

import grpc
import grpc.aio
import msgspec

from actors.shared.grpc_threads import ensure_threads
from proto import otlp_trace_pb2 as otlp
from supervision.errors import error_reason
from supervision.metrics import Metrics
from supervision.time_scale import scaled

from . import encoding
from .queue import BATCH_SPANS, SpanQueue
from .span import Attributes, Span

METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
DEFAULT_ENDPOINT: Final = "localhost:4317"
EVERY_SECONDS: Final = 5.0
"""The export interval, the default of OpenTelemetry's batch processor, as are the numbers of `queue`."""
CALL_SECONDS: Final = 10.0
"""Default of OTLP's exporters."""
GIVE_UP_SECONDS: Final = 60.0
"""How long a batch is retried before it is dropped."""
EXPORTED: Final = "troupelet_trace_spans_exported_total"
DROPPED: Final = "troupelet_trace_spans_dropped_total"
RETRYABLE: Final = frozenset({
    grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.ABORTED, grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DATA_LOSS,
})  # fmt: skip
"""OTLP's table of retryable codes, without RESOURCE_EXHAUSTED, which is retryable only with a retry delay from the
collector."""
OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),  # a collector is near; gRPC would use a proxy even for localhost
    ("grpc.enable_retries", 0),  # the exporter itself retries
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_channelz", 0),
)
_SCHEMES: Final = ("dns:", "unix:", "unix-abstract:")


class Source(msgspec.Struct, frozen=True):
    """The source of spans: the agent, and its part."""

    resource: Attributes
    scope: str
    version: str


def target_of(endpoint: str) -> str:
    """The collector's address in gRPC's form. Pure."""
    return endpoint if endpoint.startswith(_SCHEMES) else f"dns:///{endpoint}"


class Exporter:
    """A connection, opened by the first batch: never before a fork."""

    def __init__(
        self,
        endpoint: str,
        source: Source,
        metrics: Metrics,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint, self._source, self._metrics, self._log, self._clock = endpoint, source, metrics, log, clock
        self.queue = SpanQueue()
        self._batch: list[Span] = []
        """The batch being sent."""
        self._since = 0.0
        self._collector_unreachable = False
        self._channel: grpc.aio.Channel | None = None
        self._export: Any = None

    async def flush(self) -> None:
        """Send the queued spans; after a failure the rest waits for the next interval."""
        while self._batch or len(self.queue):
            if not self._batch:
                self._batch, self._since = self.queue.take(BATCH_SPANS), self._clock()
            if not await self._send():
                break
        self._count_dropped("queue_full", self.queue.take_dropped())

    async def _send(self) -> bool:
        """Send the batch. Returns whether it is finished."""
        source = self._source
        export = encoding.request(self._batch, source.resource, source.scope, source.version)
        try:
            answer = await self._call()(export, timeout=scaled(CALL_SECONDS))
        except grpc.aio.AioRpcError as error:
            return self._handle_failure(error)
        except OSError as error:
            self._log.warning("traces are not sent: %s", error_reason(error))
            return False
        rejected = answer.partial_success.rejected_spans if answer is not None else 0  # None: it cannot be read
        refused = min(max(rejected, 0), len(self._batch))
        self._metrics.count(EXPORTED, len(self._batch) - refused)
        if refused:
            self._count_dropped("refused", refused)
            why = answer.partial_success.error_message
            self._log.warning("traces: the collector at %s refused %d spans: %s", self._endpoint, refused, why)
        if self._collector_unreachable:
            self._collector_unreachable = False
            self._log.info("traces: the collector at %s takes spans again", self._endpoint)
        self._batch = []
        return True

    def _handle_failure(self, error: grpc.aio.AioRpcError) -> bool:
        if not self._collector_unreachable:
            self._collector_unreachable = True
            why = f"{error.code().name}: {error.details()}"
            self._log.warning("traces: the collector at %s does not take spans: %s", self._endpoint, why)
        retryable = error.code() in RETRYABLE
        if retryable and self._clock() - self._since < GIVE_UP_SECONDS:
            return False
        self._count_dropped("away" if retryable else "refused", len(self._batch))
        self._batch = []
        return not retryable

    def _count_dropped(self, reason: str, spans: int) -> None:
        if spans:
            self._metrics.count(DROPPED, spans, reason=reason)

    def _call(self) -> Any:
        if self._export is None:
            ensure_threads()
            self._channel = grpc.aio.insecure_channel(target_of(self._endpoint), options=OPTIONS)
            self._export = self._channel.unary_unary(
                METHOD,
                request_serializer=otlp.ExportTraceServiceRequest.SerializeToString,
                response_deserializer=otlp.ExportTraceServiceResponse.FromString,
            )
        return self._export

    async def close(self) -> None:
        """Close the connection; queued spans are lost."""
        channel, self._channel, self._export = self._channel, None, None
        if channel is not None:
            await channel.close(None)
