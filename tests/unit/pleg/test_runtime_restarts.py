"""When a runtime is restarted that does not list containers which run."""

from __future__ import annotations

from actors.pleg.runtime_restarts import PAUSES, RuntimeRestarts, record_case


def test_restarts_that_do_not_help_become_rare():
    state, now, pauses = RuntimeRestarts(), 5000.0, []
    for _ in range(8):
        state = record_case(state, now, restarts=True)
        pauses.append(state.not_before - now)
        now = state.not_before + 1
    assert pauses == [20, 40, 80, 160, 320, 640, 1200, 1200]


def test_the_next_check_comes_soon_while_the_disk_is_full():
    state = RuntimeRestarts()
    for at in (5000.0, 5100.0, 5200.0):
        state = record_case(state, at, restarts=False)
        assert state.not_before == at + PAUSES.first


def test_after_a_long_time_without_unlisted_containers_the_first_restart_comes_at_once_and_the_next_soon():
    state = record_case(record_case(RuntimeRestarts(), 5000.0, restarts=True), 5020.0, restarts=True)
    later = state.not_before + PAUSES.limit
    assert record_case(state, later, restarts=True) == RuntimeRestarts(1, later + PAUSES.first)
