"""The pressure conditions of the node over time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.pressure import Observation, Pressure
from actors.shared.admission.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.fields.eviction import Amount, Threshold

MEMORY_LEFT = Threshold("memory.available", Amount(absolute=100))
DISK_LEFT = Threshold("nodefs.available", Amount(percent=10.0), reclaim=Amount(absolute=50))
SOFT_IMAGES = Threshold("imagefs.inodesFree", Amount(absolute=7), grace_seconds=90.0)
PIDS_LEFT = Threshold("pid.available", Amount(absolute=5))
ALL = (MEMORY_LEFT, DISK_LEFT, SOFT_IMAGES, PIDS_LEFT)


def memory(available):
    return {"memory.available": Observation(available, 1000)}


@pytest.mark.parametrize(
    ("signal", "available", "condition"),
    [
        ("memory.available", 99, MEMORY_PRESSURE),
        ("nodefs.available", 99, DISK_PRESSURE),
        ("imagefs.inodesFree", 6, DISK_PRESSURE),
        ("pid.available", 4, PID_PRESSURE),
    ],
)
def test_a_threshold_is_crossed_by_less_than_its_amount_soft_ones_at_once_too(signal, available, condition):
    pressure = Pressure(ALL, 300.0)
    assert pressure.observe({signal: Observation(available + 1, 1000)}, 0.0) == frozenset()
    assert pressure.observe({signal: Observation(available, 1000)}, 10.0) == {condition}


def test_a_condition_holds_until_nothing_was_crossed_for_the_transition_period():
    pressure = Pressure(ALL, 300.0)
    assert pressure.observe(memory(50), 0.0) == {MEMORY_PRESSURE}
    assert pressure.observe(memory(500), 10.0) == {MEMORY_PRESSURE}
    assert pressure.observe(memory(50), 290.0) == {MEMORY_PRESSURE}
    assert pressure.observe(memory(500), 589.0) == {MEMORY_PRESSURE}
    assert pressure.observe(memory(500), 590.0) == frozenset()


def test_what_is_to_be_reclaimed_keeps_a_threshold_crossed():
    pressure = Pressure(ALL, 0.0)
    assert pressure.observe({"nodefs.available": Observation(149, 1000)}, 0.0) == frozenset()
    assert pressure.observe({"nodefs.available": Observation(99, 1000)}, 1.0) == {DISK_PRESSURE}
    assert pressure.observe({"nodefs.available": Observation(149, 1000)}, 2.0) == {DISK_PRESSURE}
    assert pressure.observe({"nodefs.available": Observation(150, 1000)}, 3.0) == frozenset()


def test_a_signal_that_is_missing_stays_as_it_was():
    pressure = Pressure(ALL, 0.0)
    pressure.observe(memory(50), 0.0)
    assert pressure.observe({}, 1000.0) == {MEMORY_PRESSURE}
    assert pressure.observe(memory(500), 1001.0) == frozenset()


def test_a_signal_without_a_condition_is_ignored():
    assert Pressure([Threshold("containerfs.available", Amount(absolute=10))], 0.0).observe({}, 0.0) == frozenset()


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100)), min_size=1), st.integers(0, 50))
def test_a_condition_is_there_exactly_when_its_threshold_was_crossed_within_the_period(looks, period):
    pressure, now, crossed = Pressure([MEMORY_LEFT], period), 0.0, None
    for available, later in looks:
        now += later
        crossed = now if available < 100 else crossed
        known = available < 100 or (crossed is not None and now - crossed < period)
        assert (pressure.observe(memory(available), now) == {MEMORY_PRESSURE}) is known
