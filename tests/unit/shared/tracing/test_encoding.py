"""Spans as OTLP has them."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from actors.shared.tracing.encoding import MAX_TEXT, request
from actors.shared.tracing.span import Kind, Span, SpanContext
from actors.shared.tracing.trace_context import read
from proto import otlp_trace_pb2 as otlp
from tests.support.collector import received

PARENT = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "v=1")
CONTEXT = SpanContext(trace_id=bytes(range(16)), span_id=bytes(range(8)), sampled=True, trace_state="v=1")


def span(name: str = "s", parent: SpanContext | None = None) -> Span:
    return Span(name, Kind.CLIENT, CONTEXT, parent, lambda _: None)


def encoded(*spans: Span) -> otlp.ExportTraceServiceRequest:
    made = request(spans, {"service.name": "kubelet"}, "pleg", "v1")
    return otlp.ExportTraceServiceRequest.FromString(made.SerializeToString())


def test_a_span_is_exported_with_all_its_fields() -> None:
    one = span("Status", PARENT)
    attributes: dict[str, str | bool | int | float] = {"text": "t", "yes": True, "number": -3, "share": 0.5}
    for name, value in attributes.items():
        one.set(name, value)
    one.raised(OSError("gone"))
    one.end()
    (got,) = received(encoded(one))
    assert (got.name, got.kind, got.trace_id, got.span_id) == (
        "Status",
        "client",
        CONTEXT.trace_id.hex(),
        "0001020304050607",
    )
    assert got.parent_id == "00f067aa0ba902b7"
    assert got.attributes == {"text": "t", "yes": True, "number": -3, "share": 0.5}
    assert (got.error, got.events) == (
        "gone",
        [("exception", {"exception.type": "OSError", "exception.message": "gone"})],
    )
    assert (got.start_ns, got.end_ns) == (one.start_ns, one.end_ns)
    assert (got.resource, got.scope) == ({"service.name": "kubelet"}, "pleg")


def test_a_root_has_no_parent_and_a_success_no_status() -> None:
    one = span()
    one.end()
    (scoped,) = encoded(one).resource_spans[0].scope_spans
    (got,) = scoped.spans
    assert (got.parent_span_id, got.HasField("status"), scoped.scope.version) == (b"", False, "v1")


def test_flags_mark_a_parent_in_another_process() -> None:
    local = SpanContext(trace_id=CONTEXT.trace_id, span_id=b"p" * 8, sampled=True)
    scoped = encoded(span(), span(parent=local), span(parent=PARENT)).resource_spans[0].scope_spans[0]
    assert [one.flags for one in scoped.spans] == [0x101, 0x101, 0x301]


def test_links_name_the_other_trace() -> None:
    one = span()
    assert PARENT is not None
    one.links = (PARENT,)
    ((link,),) = (each.links for each in encoded(one).resource_spans[0].scope_spans[0].spans)
    assert (link.trace_id.hex(), link.span_id.hex()) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert (link.trace_state, link.flags) == ("v=1", 0x301)


@given(st.text(st.characters(codec=None), max_size=20))
@example("\ud800")
def test_no_text_is_an_error(text: str) -> None:
    one = span(text)
    one.set("a", text)
    one.fail(text)
    (got,) = received(encoded(one))
    assert got.name == got.attributes["a"] == got.error == text.encode("utf-8", "replace").decode()


def test_a_long_text_is_cut() -> None:
    one = span()
    one.fail("x" * (MAX_TEXT + 1))
    (got,) = received(encoded(one))
    assert got.error == "x" * MAX_TEXT
