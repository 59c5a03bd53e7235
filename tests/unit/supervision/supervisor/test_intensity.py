from hypothesis import given
from hypothesis import strategies as st

from supervision.supervisor.intensity import Intensity


def count(times: list[float], most: int, period: float) -> list[bool]:
    intensity, within = Intensity(), []
    for time in times:
        intensity, ok = intensity.add(time, most, period)
        within.append(ok)
    return within


def test_one_restart_more_than_allowed_within_the_period_is_too_many() -> None:
    assert count([0, 1, 2, 3], most=3, period=10) == [True, True, True, False]


def test_restarts_older_than_the_period_are_forgotten() -> None:
    assert count([0, 1, 11.5, 12], most=2, period=10) == [True, True, True, True]


def test_a_restart_exactly_one_period_old_still_counts() -> None:
    assert count([0, 10], most=1, period=10) == [True, False]


def test_no_restart_allowed_means_the_first_is_too_many() -> None:
    assert count([5], most=0, period=10) == [False]


def test_one_in_six_seconds_is_not_five_in_thirty() -> None:
    """A burst and a rate differ: five at once are allowed by the second, not by the first."""
    burst = [0.0, 0.1, 0.2, 0.3, 0.4]
    assert all(count(burst, most=5, period=30))
    assert not all(count(burst, most=1, period=6))


schedules = st.lists(st.floats(0, 20, allow_nan=False), max_size=60)


@given(schedules, st.integers(0, 8), st.floats(0.1, 60))
def test_the_verdict_is_that_of_counting_in_the_window(gaps: list[float], most: int, period: float) -> None:
    times, now = [], 0.0
    for gap in gaps:
        now += gap
        times.append(now)
    expected = [sum(1 for t in times[: i + 1] if times[i] - t <= period) <= most for i in range(len(times))]
    assert count(times, most, period) == expected


@given(schedules, st.integers(0, 8), st.floats(0.1, 60))
def test_the_window_never_keeps_more_than_it_needs(gaps: list[float], most: int, period: float) -> None:
    intensity, now = Intensity(), 0.0
    for gap in gaps:
        now += gap
        intensity, _ = intensity.add(now, most, period)
        assert len(intensity.restarts) <= most + 1


def test_only_the_restart_of_that_time_stops_counting() -> None:
    counted = Intensity((1.0, 2.0, 2.0, 3.0))
    assert counted.without(2.0).restarts == (1.0, 2.0, 3.0)
    assert counted.without(4.0) == counted
