"""When a certificate is due for rotation."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from actors.cert_manager.certificate import Certificate
from actors.cert_manager.rotation import due_at, ended, is_due


def certificate(number: int = 0, lifetime: float = 1000.0) -> Certificate:
    return Certificate(500.0, 500.0 + lifetime, fingerprint=hashlib.sha256(str(number).encode()).hexdigest())


def test_rotation_is_spread_over_70_to_90_percent_of_a_life():
    shares = [(due_at(certificate(number)) - 500) / 1000 for number in range(200)]
    assert 0.7 <= min(shares) < 0.72
    assert 0.88 < max(shares) <= 0.9


def test_the_same_certificate_is_due_at_the_same_time_after_a_restart():
    assert due_at(certificate(7)) == due_at(certificate(7))


def test_a_certificate_is_valid_in_its_last_second():
    assert [ended(certificate(lifetime=1000.0), now) for now in (1500.0, 1500.1)] == [False, True]


@given(st.floats(-1e10, 1e10), st.floats(1, 1e9))
def test_an_expired_certificate_is_due_wherever_the_clock_jumps(now, lifetime):
    one = certificate(1, lifetime)
    assert is_due(one, now) or not ended(one, now)
