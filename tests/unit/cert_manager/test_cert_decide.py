"""When a serving pair is kept, made anew, or complained of."""

from __future__ import annotations

import pytest

from actors.cert_manager.decide import RENEW_BEFORE_SECONDS, Verdict, judge, subject_names

NOW = 1_000_000_000.0
GOOD = {"not_after": NOW + RENEW_BEFORE_SECONDS + 1, "names": ["n", "127.0.0.1"], "matches": True}


@pytest.mark.parametrize(
    ("pair", "given", "wanted", "verdict"),
    [
        (GOOD, False, ["n"], Verdict.KEEP),
        (None, False, ["n"], Verdict.MAKE),
        ({**GOOD, "matches": False}, False, ["n"], Verdict.MAKE),
        ({**GOOD, "not_after": NOW + 60}, False, ["n"], Verdict.MAKE),
        (GOOD, False, ["n", "10.0.0.1"], Verdict.MAKE),
        (GOOD, True, ["other"], Verdict.KEEP),
        ({**GOOD, "not_after": NOW - 1}, True, ["n"], Verdict.KEEP),
        (None, True, ["n"], Verdict.BROKEN),
        ({**GOOD, "matches": False}, True, ["n"], Verdict.BROKEN),
    ],
)
def test_a_pair_is_kept_made_or_called_broken(pair, given, wanted, verdict):
    assert judge(pair, given=given, wanted=wanted, now=NOW) is verdict


def test_subject_names_are_given_once_each_the_node_first():
    assert subject_names("n", "10.0.0.1,fd00::1", ["10.0.0.1"]) == [
        "n",
        "10.0.0.1",
        "fd00::1",
        "localhost",
        "127.0.0.1",
    ]
