"""A span for each request that has access, until its answer or its stream has ended.

A caller without access makes no spans. On the read-only server, which is open to everybody, the caller's trace is a
link and not the parent, so that callers do not control the sampling.
"""

from __future__ import annotations

from tornado.httputil import HTTPServerRequest

from actors.shared.tracing.span import Kind, Span, Value
from actors.shared.tracing.trace_context import TRACEPARENT, TRACESTATE, read
from actors.shared.tracing.tracer import OFF, Tracer

from .request_metrics import OTHER

FAILED = 500
"""Statuses from here on are failures of the server."""


def start(tracer: Tracer, request: HTTPServerRequest, path: str, *, public: bool) -> Span | None:
    """The span of a request; None without tracing. `path`: the label of its metrics."""
    if tracer is OFF:
        return None
    caller = read(request.headers.get(TRACEPARENT, ""), request.headers.get(TRACESTATE, ""))
    parent, link = (None, caller) if public else (caller, None)
    name = f"HTTP {request.method}" if path == OTHER else f"/{path}"
    return tracer.start(name, _request_attributes(request, path), kind=Kind.SERVER, parent=parent, link=link)


def _request_attributes(request: HTTPServerRequest, path: str) -> dict[str, Value]:
    """Attributes by OpenTelemetry's conventions; without the query, which may contain a command."""
    about: dict[str, Value] = {
        "http.request.method": request.method or "",
        "url.scheme": request.protocol,
        "url.path": request.path,
        "client.address": request.remote_ip or "",
        "user_agent.original": request.headers.get("User-Agent", ""),
    }
    return about if path == OTHER else about | {"http.route": f"/{path}"}


def answered(span: Span, status: int) -> None:
    """Set the status of the answer."""
    span.set("http.response.status_code", status)
    if status >= FAILED:
        span.fail(f"HTTP {status}")
