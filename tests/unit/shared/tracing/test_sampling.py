"""Which traces are recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.tracing.sampling import MILLION, bound_of, is_sampled
from actors.shared.tracing.span import SpanContext

IDS = st.binary(min_size=16, max_size=16)


def parent(*, sampled: bool) -> SpanContext:
    return SpanContext(trace_id=b"t" * 16, span_id=b"s" * 8, sampled=sampled)


@given(IDS)
def test_no_root_span_is_sampled_without_a_rate(trace_id: bytes) -> None:
    assert not is_sampled(None, trace_id, bound_of(None))
    assert not is_sampled(None, trace_id, bound_of(0))


@given(IDS)
def test_a_million_of_a_million_is_everything(trace_id: bytes) -> None:
    assert is_sampled(None, trace_id, bound_of(MILLION))


@given(IDS, st.integers(0, MILLION), st.booleans())
def test_a_parent_decides_at_any_rate(trace_id: bytes, rate: int, sampled: bool) -> None:
    assert is_sampled(parent(sampled=sampled), trace_id, bound_of(rate)) is sampled


@given(IDS, st.integers(0, MILLION - 1))
def test_a_trace_sampled_at_a_rate_is_sampled_at_a_higher_one(trace_id: bytes, rate: int) -> None:
    assert is_sampled(None, trace_id, bound_of(rate)) <= is_sampled(None, trace_id, bound_of(rate + 1))


@pytest.mark.parametrize(
    ("low", "sampled"), [(0, True), ((1 << 62) - 1, True), (1 << 62, False), ((1 << 63) - 1, False)]
)
def test_the_upper_63_bits_of_the_last_eight_bytes_decide_sampling(low: int, sampled: bool) -> None:
    # as the SDK in Go: the last eight bytes, big endian, without their lowest bit, against rate * 2^63
    trace_id = b"\xff" * 8 + (low << 1).to_bytes(8, "big")
    assert is_sampled(None, trace_id, bound_of(MILLION // 2)) is sampled
