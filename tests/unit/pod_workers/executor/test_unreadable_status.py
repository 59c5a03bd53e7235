"""When it is told that the runtime does not tell the state of a pod."""

from __future__ import annotations

from actors.pod_workers.executor.unreadable_status import UnreadableStatus


def told(*looks: float | None) -> list[float]:
    """The times of the failed looks with an event; None is a look that the runtime answered."""
    status, found = UnreadableStatus(), []
    for look in looks:
        if look is None:
            status.read()
        elif status.failed(look):
            found.append(look)
    return found


def test_a_failure_of_ten_seconds_is_told_and_then_again_each_ten_seconds() -> None:
    assert told(*range(100, 133)) == [110, 120, 130]
    assert told(100, 120, 140) == [120, 140]


def test_failures_with_an_answer_between_them_are_not_told() -> None:
    assert told(100, 105, None, 106, 111, None, 112, 121) == []
    assert told(100, 110, None, 111, 120, 121) == [110, 121]


def test_a_clock_that_is_set_back_is_no_reason_to_tell_nothing_for_long() -> None:
    assert told(1000, 100, 105, 110) == [110]
