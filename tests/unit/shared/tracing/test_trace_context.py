"""traceparent and tracestate, as W3C's Trace Context has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.tracing.span import SpanContext
from actors.shared.tracing.trace_context import MAX_STATE, headers, read, traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"
CONTEXTS = st.builds(
    SpanContext,
    trace_id=st.binary(min_size=16, max_size=16).filter(any),
    span_id=st.binary(min_size=8, max_size=8).filter(any),
    sampled=st.booleans(),
    remote=st.just(True),
)


def test_a_callers_context_is_read() -> None:
    found = read(GOOD, "a=1,b=2")
    assert found is not None
    assert (found.trace_id.hex(), found.span_id.hex(), found.sampled, found.remote) == (TRACE, SPAN, True, True)
    assert found.trace_state == "a=1,b=2"


@given(CONTEXTS)
def test_a_written_context_is_parsed_unchanged(context: SpanContext) -> None:
    assert read(traceparent(context)) == context


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True), ("ff", True)])
def test_only_the_lowest_flag_decides_whether_it_is_sampled(flags: str, sampled: bool) -> None:
    found = read(f"00-{TRACE}-{SPAN}-{flags}")
    assert found is not None
    assert found.sampled is sampled


@pytest.mark.parametrize("text", [f"cc-{TRACE}-{SPAN}-01", f"cc-{TRACE}-{SPAN}-01-what-comes-later", f" {GOOD} "])
def test_a_later_version_is_read_as_far_as_its_fields_are_defined(text: str) -> None:
    assert read(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "00", GOOD[:-1], GOOD + "0", GOOD + "-more", GOOD.upper(), f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE[:-1]}g-{SPAN}-01", f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE}-{SPAN}-1", f"cc-{TRACE}-{SPAN}-01more", GOOD.replace("4", "\u0664"), GOOD + "\n" + GOOD,
    ],
)  # fmt: skip
def test_a_malformed_context_is_ignored(text: str) -> None:
    assert read(text) is None


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    assert read(text, text) is None


@pytest.mark.parametrize("state", ["x" * (MAX_STATE + 1), "a=\u00e9", "a=1\r\nb: 2", "a=\x00"])
def test_a_state_that_cannot_be_passed_on_is_dropped_and_the_context_stays(state: str) -> None:
    found = read(GOOD, state)
    assert found is not None
    assert found.trace_state == ""


def test_a_state_is_passed_on_where_there_is_one() -> None:
    with_state, without = read(GOOD, "a=1"), read(GOOD)
    assert with_state is not None
    assert without is not None
    assert headers(with_state) == (("traceparent", GOOD), ("tracestate", "a=1"))
    assert headers(without) == (("traceparent", GOOD),)
