"""Spans: whose children they are, what they keep, what goes on to others."""

from __future__ import annotations

import asyncio

import pytest

from actors.shared.tracing.sampling import MILLION, bound_of
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.trace_context import read
from actors.shared.tracing.tracer import OFF, RecordingTracer, headers_of, traceparent_of_current

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = PARENT[:-1] + "0"


class ExpectedError(Exception):
    pass


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> RecordingTracer:
    return RecordingTracer(bound_of(MILLION), ended.append)


def test_a_span_within_another_is_its_child(tracer: RecordingTracer, ended: list[Span]) -> None:
    with tracer.span("outer", {"a": 1}), tracer.span("inner", kind=Kind.CLIENT) as inner:
        inner.set("b", "two")
    one, other = ended
    assert (one.name, one.kind, one.attributes) == ("inner", Kind.CLIENT, {"b": "two"})
    assert (other.name, other.kind, other.attributes, other.parent) == ("outer", Kind.INTERNAL, {"a": 1}, None)
    assert one.parent == other.context
    assert one.context.trace_id == other.context.trace_id
    assert one.context.span_id != other.context.span_id
    assert other.start_ns <= one.start_ns <= one.end_ns <= other.end_ns


def test_two_roots_are_two_traces(tracer: RecordingTracer, ended: list[Span]) -> None:
    for name in "ab":
        with tracer.span(name):
            pass
    assert len({span.context.trace_id for span in ended}) == 2


async def test_a_task_belongs_to_the_span_that_started_it_and_to_no_other(
    tracer: RecordingTracer, ended: list[Span]
) -> None:
    async def work(name: str, begun: asyncio.Event, go: asyncio.Event) -> None:
        with tracer.span(f"child of {name}"):
            begun.set()
            await go.wait()

    go, tasks = asyncio.Event(), []
    for name in ("one", "other"):
        with tracer.span(name):
            begun = asyncio.Event()
            tasks.append(asyncio.ensure_future(work(name, begun, go)))
            await begun.wait()
    assert traceparent_of_current() == ""
    go.set()
    await asyncio.gather(*tasks)
    by_name = {span.name: span for span in ended}
    for name in ("one", "other"):
        assert by_name[f"child of {name}"].parent == by_name[name].context


def test_an_exception_in_a_block_is_recorded_and_raised(tracer: RecordingTracer, ended: list[Span]) -> None:
    with pytest.raises(ValueError, match="odd"), tracer.span("s"):
        raise ValueError("odd")
    assert ended[0].error == "odd"
    ((event),) = ended[0].events
    assert (event.name, event.attributes) == (
        "exception",
        {"exception.type": "ValueError", "exception.message": "odd"},
    )
    assert traceparent_of_current() == ""


def test_an_exception_without_words_is_named(tracer: RecordingTracer, ended: list[Span]) -> None:
    with pytest.raises(KeyError), tracer.span("s"):
        raise KeyError
    assert ended[0].error == "KeyError"


def test_an_expected_exception_is_not_a_failure(tracer: RecordingTracer, ended: list[Span]) -> None:
    with pytest.raises(ExpectedError), tracer.around(tracer.start("s"), expected=(ExpectedError,)):
        raise ExpectedError
    assert (ended[0].error, ended[0].events) == (None, [])


def test_a_caller_of_another_process_is_the_parent_or_is_only_linked(
    tracer: RecordingTracer, ended: list[Span]
) -> None:
    caller = read(PARENT)
    tracer.start("child", parent=caller).end()
    tracer.start("beside", link=caller).end()
    child, beside = ended
    assert caller is not None
    assert (child.parent, child.context.trace_id) == (caller, caller.trace_id)
    assert (beside.parent, beside.links) == (None, (caller,))
    assert beside.context.trace_id != caller.trace_id


def test_work_for_a_span_of_another_actor_is_its_child(tracer: RecordingTracer, ended: list[Span]) -> None:
    with tracer.within(PARENT), tracer.span("s"):
        pass
    with tracer.within(""):
        assert traceparent_of_current() == ""
    assert ended[0].parent == read(PARENT)


def test_a_trace_that_is_not_sampled_keeps_nothing_but_is_passed_on(tracer: RecordingTracer, ended: list[Span]) -> None:
    with tracer.span("s", {"a": 1}, parent=read(UNSAMPLED)) as span:
        span.set("b", 2)
        span.fail("no")
        assert (span.attributes, span.error) == ({}, None)
        ((_, carried),) = headers_of(span)
        assert traceparent_of_current() == carried
    assert carried.startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-")
    assert carried.endswith("-00")
    assert ended == []


def test_trace_state_of_other_vendors_is_propagated(tracer: RecordingTracer) -> None:
    span = tracer.start("s", parent=read(PARENT, "a=1"))
    assert dict(headers_of(span))["tracestate"] == "a=1"


def test_a_span_ends_once(tracer: RecordingTracer, ended: list[Span]) -> None:
    span = tracer.start("s")
    span.end()
    first = span.end_ns
    span.end()
    assert (len(ended), span.end_ns) == (1, first)


def test_no_span_is_kept_or_propagated_without_tracing() -> None:
    with OFF.within(PARENT), OFF.span("outer", {"a": 1}), OFF.around(OFF.start("s", parent=read(PARENT))) as span:
        span.set("b", 2)
        span.fail("no")
        assert (headers_of(span), traceparent_of_current()) == ((), "")
    assert (span.attributes, span.error) == ({}, None)
