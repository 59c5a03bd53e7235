from hypothesis import given
from hypothesis import strategies as st

from supervision.backoff import Backoff, BackoffPolicy, RetrySchedule

RESTARTS = BackoffPolicy()
PULLS = BackoffPolicy(first=10, maximum=300, reset_after=600)


def bases(policy: BackoffPolicy, failures: int) -> list[float]:
    backoff, pauses = Backoff(), []
    for _ in range(failures):
        backoff = backoff.failed(policy)
        pauses.append(backoff.base(policy))
    return pauses


def test_the_first_restart_comes_at_once_then_pauses_double_up_to_the_maximum() -> None:
    assert bases(RESTARTS, 10) == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_the_node_agent_backs_off_from_ten_seconds_to_five_minutes() -> None:
    assert bases(PULLS, 8) == [0, 10, 20, 40, 80, 160, 300, 300]


def test_without_a_free_failure_the_first_one_pauses() -> None:
    assert bases(BackoffPolicy(first=10, maximum=300, free=0), 3) == [10, 20, 40]


def test_a_quiet_period_makes_the_next_failure_the_first_again() -> None:
    backoff = Backoff(5)
    assert backoff.failed(RESTARTS, healthy_seconds=9.9).base(RESTARTS) == 8
    assert backoff.failed(RESTARTS, healthy_seconds=10).base(RESTARTS) == 0


def test_a_million_failures_do_not_overflow() -> None:
    assert Backoff(1_000_000).base(RESTARTS) == 30


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_only_shortens_and_by_no_more_than_its_share(failures: int, random: float) -> None:
    backoff = Backoff(failures)
    pause, base = backoff.pause(RESTARTS, lambda: random), backoff.base(RESTARTS)
    assert base * (1 - RESTARTS.jitter) <= pause <= base <= RESTARTS.maximum


@given(st.lists(st.floats(0, 30), max_size=40))
def test_pauses_grow_until_a_quiet_period(uptimes: list[float]) -> None:
    backoff, previous = Backoff(), 0.0
    for uptime in uptimes:
        backoff = backoff.failed(RESTARTS, uptime)
        base = backoff.base(RESTARTS)
        assert base == 0 if uptime >= RESTARTS.reset_after else base >= previous
        previous = base


def test_a_retry_schedule_doubles_from_its_first_pause_to_its_limit() -> None:
    assert [RetrySchedule(1, 10).pause(failures) for failures in range(7)] == [0, 1, 2, 4, 8, 10, 10]


def test_a_retry_schedule_never_exceeds_its_limit() -> None:
    assert RetrySchedule(10, 3).pause(1) == 3
    assert RetrySchedule(1, 10).pause(1_000_000) == 10


def test_a_forgiven_failure_lengthens_no_pause() -> None:
    assert Backoff(3).forgiven() == Backoff(2)
    assert Backoff().forgiven() == Backoff()
