"""The clock that goes on evenly when the wall clock is set."""

from __future__ import annotations

from actors.shared.steady_clock import steady_clock


def test_a_wall_clock_that_is_set_is_not_followed() -> None:
    wall, monotonic = [1e9], [50.0]
    clock = steady_clock(lambda: wall[0], lambda: monotonic[0])
    assert clock() == 1e9
    wall[0], monotonic[0] = 5.0, 60.0
    assert clock() == 1e9 + 10
