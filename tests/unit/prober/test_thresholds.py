"""Results that count: so many outcomes in a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.prober.outcome import ProbeOutcome
from actors.prober.probe_type import Kind
from actors.prober.thresholds import Streak, decide
from actors.shared.kube.handlers import Probe

GOOD, BAD, ERROR = ProbeOutcome("success"), ProbeOutcome("failure"), ProbeOutcome("error")
outcomes = st.lists(st.sampled_from([GOOD, BAD, ERROR]), max_size=40)
probes = st.builds(Probe, successThreshold=st.integers(0, 4), failureThreshold=st.integers(0, 4))


def results(kind, probe, found):
    """The result after each outcome."""
    streak = Streak()
    after = []
    for outcome in found:
        streak = decide(streak, outcome, kind, probe)
        after.append(streak.result)
    return after


def test_readiness_fails_after_three_in_a_row_and_comes_back_with_one():
    found = [GOOD, BAD, BAD, GOOD, BAD, BAD, BAD, BAD, GOOD]
    assert results("readiness", Probe(), found) == [True] * 6 + [False, False, True]


def test_a_probe_that_errs_changes_nothing_and_breaks_no_row():
    assert results("readiness", Probe(), [BAD, ERROR, BAD, ERROR, BAD]) == [None] * 4 + [False]


def test_failed_liveness_and_any_startup_result_are_put_on_hold_until_another_container():
    held: list[tuple[Kind, list[ProbeOutcome]]] = [("liveness", [BAD] * 3), ("startup", [GOOD]), ("startup", [BAD] * 3)]
    for kind, found in held:
        streak = Streak()
        for outcome in found:
            streak = decide(streak, outcome, kind, Probe())
        assert streak.on_hold
        assert decide(streak, GOOD, kind, Probe()) == decide(streak, BAD, kind, Probe()) == streak


@given(probes, outcomes)
def test_a_result_is_the_outcome_of_enough_equal_answers_in_a_row(probe, found):
    after = results("readiness", probe, found)
    clear = [outcome for outcome in found if outcome is not ERROR]
    expected = None
    seen = 0
    for outcome, result in zip(found, after, strict=True):
        seen += outcome is not ERROR
        if outcome is not ERROR:
            need = max(1, probe.successThreshold if outcome is GOOD else probe.failureThreshold)
            row = clear[max(0, seen - need) : seen]
            if len(row) == need and all(each is outcome for each in row):
                expected = outcome is GOOD
        assert result == expected


@given(st.sampled_from(["liveness", "startup", "readiness"]), probes, outcomes)
def test_a_streak_never_grows_beyond_its_thresholds(kind, probe, found):
    streak = Streak()
    for outcome in found:
        streak = decide(streak, outcome, kind, probe)
        assert streak.count <= max(1, probe.successThreshold, probe.failureThreshold)


def test_a_container_that_passes_liveness_or_readiness_is_probed_on():
    kinds: list[Kind] = ["liveness", "readiness"]
    for kind in kinds:
        assert not decide(Streak(), GOOD, kind, Probe()).on_hold
    streak = Streak()
    for _ in range(3):
        streak = decide(streak, BAD, "readiness", Probe())
    assert (streak.result, streak.on_hold) == (False, False)
