"""The pauses between attempts, and the reports of a pending request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cert_manager.request_retries import (
    POLL_SECONDS,
    POLLS,
    REFUSALS,
    REPORT_SECONDS,
    SLOW_POLL_SECONDS,
    FailureKind,
    Failures,
    PendingReports,
    pause_before_rotation,
)


def pauses(kind: FailureKind, count: int, rng: float = 0.0) -> list[float]:
    failures, seconds = Failures(), []
    for _ in range(count):
        failures = failures.after(kind)
        seconds.append(failures.pause(lambda: rng))
    return seconds


def test_errors_wait_two_seconds_doubling_to_32():
    assert pauses(FailureKind.ERROR, 7) == [2, 4, 8, 16, 32, 32, 32]


def test_an_unreachable_server_is_tried_every_two_seconds_for_a_minute():
    seconds = pauses(FailureKind.UNREACHABLE, 40, rng=0.5)
    assert seconds[:27] == [2.2] * 27
    assert 55 < sum(seconds[:27]) < 65
    assert seconds[-1] == pytest.approx(32, rel=0.1)


def test_the_pause_grows_with_each_denial_despite_other_failures_in_between():
    assert pauses(FailureKind.REFUSED, 7) == [30, 60, 120, 240, 480, 900, 900]
    failures = Failures().after(FailureKind.REFUSED).after(FailureKind.UNREACHABLE).after(FailureKind.REFUSED)
    assert failures.pause(lambda: 0.0) == 60


def test_the_servers_retry_after_is_respected_up_to_a_limit():
    failures = Failures().after(FailureKind.ERROR)
    assert failures.pause(lambda: 0.0, retry_after=10) == 10
    assert failures.pause(lambda: 0.0, retry_after=1e9) == REFUSALS.maximum


@given(st.lists(st.sampled_from(FailureKind), min_size=1, max_size=200), st.floats(0, 0.999))
def test_no_pause_is_zero_or_for_ever(kinds, rng):
    failures = Failures()
    for kind in kinds:
        failures = failures.after(kind)
        assert 2 <= failures.pause(lambda: rng) <= REFUSALS.maximum * 1.1


def test_a_pending_request_is_reported_at_once_and_then_periodically():
    waiting, report = PendingReports().after_attempt(1000.0, new=True)
    assert report == "info"
    waiting, report = waiting.after_attempt(1000.0 + REPORT_SECONDS - 1, new=False)
    assert report == ""
    waiting, report = waiting.after_attempt(1000.0 + REPORT_SECONDS, new=False)
    assert report == "warning"
    waiting, report = waiting.after_attempt(1001.0 + REPORT_SECONDS, new=False)
    assert report == ""
    waiting, report = waiting.after_attempt(1002.0 + REPORT_SECONDS, new=True)
    assert (report, waiting.attempts) == ("info", 1)


def test_a_pending_request_is_checked_less_often_after_a_minute():
    assert [PendingReports(POLLS).pause, PendingReports(POLLS + 1).pause] == [POLL_SECONDS, SLOW_POLL_SECONDS]


def test_a_certificate_that_is_due_at_once_is_used_for_half_of_its_remaining_life():
    assert [pause_before_rotation(60.0, left) for left in (-1.0, 4.0, 40.0, 400.0)] == [60.0, 10.0, 20.0, 60.0]
