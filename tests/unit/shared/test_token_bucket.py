"""The token bucket: burst, rate and tokens that are given back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.shared.token_bucket import TokenBucket


def test_a_burst_passes_at_once_and_then_the_rate_applies() -> None:
    bucket = TokenBucket(5, 3)
    assert [round(bucket.reserve(10.0), 3) for _ in range(5)] == [0, 0, 0, 0.2, 0.4]
    assert round(bucket.reserve(10.6), 3) == 0
    assert round(bucket.reserve(10.6), 3) == 0.2


def test_a_rate_of_zero_is_no_limit() -> None:
    bucket = TokenBucket(0, 0)
    assert all(bucket.take(0.0) for _ in range(100))
    assert [bucket.reserve(0.0) for _ in range(100)] == [0.0] * 100


def test_an_unused_token_is_returned() -> None:
    bucket = TokenBucket(1, 1)
    bucket.reserve(0.0)
    bucket.reserve(0.0)
    bucket.give_back()
    assert bucket.reserve(0.0) == 1.0


@given(st.floats(0.1, 100), st.integers(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=60))
def test_never_more_than_burst_and_rate_allow(qps: float, burst: int, gaps: list[float]) -> None:
    bucket, now, at = TokenBucket(qps, burst), 0.0, []
    for gap in gaps:
        now += gap
        at.append(now + bucket.reserve(now))
    assert at == sorted(at)
    for first in range(len(at)):
        for last in range(first, len(at)):
            assert last - first + 1 <= burst + (at[last] - at[first]) * qps + 1e-6


def test_without_a_token_nothing_is_taken() -> None:
    bucket = TokenBucket(rate=100, burst=10)
    assert [bucket.take(5.0) for _ in range(11)] == [True] * 10 + [False]
    assert [bucket.take(5.011) for _ in range(2)] == [True, False]
    assert sum(bucket.take(3600.0) for _ in range(50)) == 10


def test_a_clock_set_back_adds_no_tokens() -> None:
    bucket = TokenBucket(1, 1)
    assert [bucket.take(now) for now in (100.0, 0.0, 100.0, 101.0)] == [True, False, False, True]
