"""Spans as a request of OTLP. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from proto import otlp_trace_pb2 as otlp

from .span import Attributes, Span, SpanContext, Value

MAX_TEXT: Final = 4096
"""The maximum length of a text: errors of a runtime may be longer, and a collector accepts 4 MiB in all."""
_KNOWN_REMOTE, _REMOTE = 0x100, 0x200
_FAILED: Final = otlp.Status.STATUS_CODE_ERROR


def request(spans: Iterable[Span], resource: Attributes, scope: str, version: str) -> otlp.ExportTraceServiceRequest:
    """The spans as OTLP. `resource` identifies the agent, `scope` the part of it that made them."""
    export = otlp.ExportTraceServiceRequest()
    resource_spans = export.resource_spans.add()
    resource_spans.resource.attributes.extend(_pairs(resource))
    scoped = resource_spans.scope_spans.add()
    scoped.scope.name, scoped.scope.version = _text(scope), _text(version)
    scoped.spans.extend(_span(span) for span in spans)
    return export


def _span(span: Span) -> otlp.Span:
    context, parent = span.context, span.parent
    return otlp.Span(
        trace_id=context.trace_id,
        span_id=context.span_id,
        trace_state=context.trace_state,
        parent_span_id=parent.span_id if parent is not None else b"",
        flags=_flags(context.sampled, parent),
        name=_text(span.name),
        kind=otlp.Span.SpanKind.ValueType(span.kind),
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_pairs(span.attributes),
        events=[
            otlp.Span.Event(time_unix_nano=one.at, name=_text(one.name), attributes=_pairs(one.attributes))
            for one in span.events
        ],
        links=[_link(link) for link in span.links],
        status=None if span.error is None else otlp.Status(code=_FAILED, message=_text(span.error)),
    )


def _flags(sampled: bool, parent: SpanContext | None) -> int:
    return int(sampled) | _KNOWN_REMOTE | (_REMOTE if parent is not None and parent.remote else 0)


def _link(context: SpanContext) -> otlp.Span.Link:
    return otlp.Span.Link(
        trace_id=context.trace_id,
        span_id=context.span_id,
        trace_state=context.trace_state,
        flags=_flags(context.sampled, context),
    )


def _pairs(attributes: Attributes) -> list[otlp.KeyValue]:
    return [otlp.KeyValue(key=name, value=_value(value)) for name, value in attributes.items()]


def _value(value: Value) -> otlp.AnyValue:
    if isinstance(value, bool):
        return otlp.AnyValue(bool_value=value)
    if isinstance(value, int):
        return otlp.AnyValue(int_value=value)
    if isinstance(value, float):
        return otlp.AnyValue(double_value=value)
    return otlp.AnyValue(string_value=_text(value))


def _text(text: str) -> str:
    """Bounded, and valid UTF-8 for any file name or text of a caller."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")
