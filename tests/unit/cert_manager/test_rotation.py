"""When a certificate is due, and how long the pauses between tries are."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cert_manager.certificate import Certificate
from actors.cert_manager.rotation import REFUSED_LONGEST, Tries, Trouble, due_at, ended, is_due


def certificate(number: int = 0, lifetime: float = 1000.0) -> Certificate:
    return Certificate(500.0, 500.0 + lifetime, fingerprint=hashlib.sha256(str(number).encode()).hexdigest())


def test_rotation_is_spread_over_70_to_90_percent_of_a_life():
    shares = [(due_at(certificate(number)) - 500) / 1000 for number in range(200)]
    assert 0.7 <= min(shares) < 0.72
    assert 0.88 < max(shares) <= 0.9


def test_the_same_certificate_is_due_at_the_same_time_after_a_restart():
    assert due_at(certificate(7)) == due_at(certificate(7))


@given(st.floats(-1e10, 1e10), st.floats(1, 1e9))
def test_wherever_the_clock_jumps_what_has_ended_is_due(now, lifetime):
    one = certificate(1, lifetime)
    assert is_due(one, now) or not ended(one, now)


def pauses(trouble: Trouble, count: int, rng: float = 0.0) -> list[float]:
    tries, found = Tries(), []
    for _ in range(count):
        tries = tries.after(trouble)
        found.append(tries.pause(lambda: rng))
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
    tries = Tries().after(Trouble.REFUSED).after(Trouble.AWAY).after(Trouble.REFUSED)
    assert tries.pause(lambda: 0.0) == 60


def test_the_servers_own_wish_is_kept_within_reason():
    tries = Tries().after(Trouble.ERROR)
    assert tries.pause(lambda: 0.0, retry_after=10) == 10
    assert tries.pause(lambda: 0.0, retry_after=1e9) == REFUSED_LONGEST


@given(st.lists(st.sampled_from(Trouble), min_size=1, max_size=200), st.floats(0, 0.999))
def test_no_pause_is_zero_or_for_ever(troubles, rng):
    tries = Tries()
    for trouble in troubles:
        tries = tries.after(trouble)
        assert 2 <= tries.pause(lambda: rng) <= REFUSED_LONGEST * 1.1
