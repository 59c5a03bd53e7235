"""A collector of spans: a real OTLP server on a port or a Unix socket, which keeps what it is sent.

with Collector() as collector:
    agent.start(tracing endpoint: collector.endpoint)
    span = collector.wait_for("syncPod")
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import msgspec

from actors.shared.tracing.exporter import METHOD
from proto import otlp_trace_pb2 as otlp

Attributes = dict[str, Any]
KINDS = {
    otlp.Span.SPAN_KIND_INTERNAL: "internal", otlp.Span.SPAN_KIND_SERVER: "server",
    otlp.Span.SPAN_KIND_CLIENT: "client",
}  # fmt: skip


class Received(msgspec.Struct, frozen=True):
    """One span as it came."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    """'': a root."""
    start_ns: int
    end_ns: int
    attributes: Attributes
    links: list[tuple[str, str]]
    events: list[tuple[str, Attributes]]
    error: str | None
    resource: Attributes
    scope: str


class Collector:
    """From `with` to its end. Another on the same port is the same collector, back again."""

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self._address = address
        self._lock = threading.Condition()
        self._spans: list[Received] = []
        self.requests = 0
        self.answer: Callable[[grpc.ServicerContext], otlp.ExportTraceServiceResponse] = lambda _: (
            otlp.ExportTraceServiceResponse()
        )
        """What a request is answered with; it may raise or abort. What it was sent is kept only if it does not."""

    def __enter__(self) -> Collector:
        self._server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
        service, _, method = METHOD.lstrip("/").partition("/")
        handler = grpc.unary_unary_rpc_method_handler(
            self._export,
            otlp.ExportTraceServiceRequest.FromString,
            otlp.ExportTraceServiceResponse.SerializeToString,
        )
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        port = self._server.add_insecure_port(self._address)
        if not self._address.startswith("unix:"):
            self._address = f"127.0.0.1:{port}"
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait(10)

    @property
    def endpoint(self) -> str:
        return self._address

    def _export(
        self, request: otlp.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> otlp.ExportTraceServiceResponse:
        answer = self.answer(context)
        with self._lock:
            self.requests += 1
            self._spans += received(request)
            self._lock.notify_all()
        return answer

    @property
    def spans(self) -> list[Received]:
        with self._lock:
            return list(self._spans)

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def wait(self, done: Callable[[list[Received]], Any], what: str, seconds: float = 60.0) -> Any:
        """What `done` finds in all spans so far, once that is something."""
        end = time.monotonic() + seconds
        with self._lock:
            while not (found := done(self._spans)):
                if not self._lock.wait(max(0.0, end - time.monotonic())):
                    names = sorted({span.name for span in self._spans})
                    raise AssertionError(f"no {what} after {seconds:.0f} s, but {names}")
            return found

    def wait_for(self, name: str, seconds: float = 60.0, **attributes: Any) -> Received:
        """The first of that name with these attributes (`.` in their names as `__`)."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}

        def first(spans: list[Received]) -> Received | None:
            return next((one for one in spans if one.name == name and wanted.items() <= one.attributes.items()), None)

        found = self.wait(first, f"span {name}", seconds)
        assert isinstance(found, Received)
        return found


def received(request: otlp.ExportTraceServiceRequest) -> list[Received]:
    """All spans of a request."""
    return [
        _read(span, _dict(group.resource.attributes), scoped.scope.name)
        for group in request.resource_spans
        for scoped in group.scope_spans
        for span in scoped.spans
    ]


def _read(span: otlp.Span, resource: Attributes, scope: str) -> Received:
    failed = span.status.code == otlp.Status.STATUS_CODE_ERROR
    return Received(
        span.name,
        KINDS[span.kind],
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _dict(span.attributes),
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        [(event.name, _dict(event.attributes)) for event in span.events],
        span.status.message if failed else None,
        resource,
        scope,
    )


def _dict(pairs: Any) -> Attributes:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
