"""How long the pauses between attempts are, and when a pending request is reported."""

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
    Failures,
    Trouble,
    Waiting,
    useful_pause,
)


def pauses(trouble: Trouble, count: int, rng: float = 0.0) -> list[float]:
    failures, found = Failures(), []
    for _ in range(count):
        failures = failures.after(trouble)
        found.append(failures.pause(lambda: rng))
    return found


def test_errors_wait_two_seconds_doubling_to_32():
    assert pauses(Trouble.ERROR, 7) == [2, 4, 8, 16, 32, 32, 32]


def test_a_server_that_is_away_is_tried_every_two_seconds_for_a_minute():
    found = pauses(Trouble.AWAY, 40, rng=0.5)
    assert found[:27] == [2.2] * 27
    assert 55 < sum(found[:27]) < 65
    assert found[-1] == pytest.approx(32, rel=0.1)


def test_denials_wait_longer_each_time_whatever_comes_between():
    assert pauses(Trouble.REFUSED, 7) == [30, 60, 120, 240, 480, 900, 900]
    failures = Failures().after(Trouble.REFUSED).after(Trouble.AWAY).after(Trouble.REFUSED)
    assert failures.pause(lambda: 0.0) == 60


def test_the_servers_own_wish_is_kept_within_reason():
    failures = Failures().after(Trouble.ERROR)
    assert failures.pause(lambda: 0.0, retry_after=10) == 10
    assert failures.pause(lambda: 0.0, retry_after=1e9) == REFUSALS.maximum


@given(st.lists(st.sampled_from(Trouble), min_size=1, max_size=200), st.floats(0, 0.999))
def test_no_pause_is_zero_or_for_ever(troubles, rng):
    failures = Failures()
    for trouble in troubles:
        failures = failures.after(trouble)
        assert 2 <= failures.pause(lambda: rng) <= REFUSALS.maximum * 1.1


def test_a_pending_request_is_reported_at_first_and_then_now_and_then_and_a_new_one_at_once():
    waiting, report = Waiting().again(1000.0, new=True)
    assert report == "info"
    waiting, report = waiting.again(1000.0 + REPORT_SECONDS - 1, new=False)
    assert report == ""
    waiting, report = waiting.again(1000.0 + REPORT_SECONDS, new=False)
    assert report == "warning"
    waiting, report = waiting.again(1001.0 + REPORT_SECONDS, new=False)
    assert report == ""
    waiting, report = waiting.again(1002.0 + REPORT_SECONDS, new=True)
    assert (report, waiting.attempts) == ("info", 1)


def test_a_pending_request_is_looked_at_less_often_after_a_minute():
    assert [Waiting(POLLS).pause, Waiting(POLLS + 1).pause] == [POLL_SECONDS, SLOW_POLL_SECONDS]


def test_a_certificate_that_is_due_at_once_is_used_for_half_of_what_is_left_of_it():
    assert [useful_pause(60.0, left) for left in (-1.0, 4.0, 40.0, 400.0)] == [60.0, 10.0, 20.0, 60.0]
