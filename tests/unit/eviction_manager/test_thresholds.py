"""Eviction thresholds and pressure conditions over time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.eviction_manager.resources import CONDITION_OF, DiskLayout
from actors.eviction_manager.thresholds import (
    SignalObservation,
    ThresholdTracker,
    for_layout,
    headroom,
    still_met,
    watched,
)
from actors.shared.admission.checks.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.fields.eviction import Amount, Threshold, parse_reclaim
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

MEMORY_LEFT = Threshold("memory.available", Amount(absolute=100))
DISK_LEFT = Threshold("nodefs.available", Amount(percent=10.0), reclaim=Amount(absolute=50))
SOFT_IMAGES = Threshold("imagefs.inodesFree", Amount(absolute=7), grace_seconds=90.0)
SOFT_DISK = Threshold("nodefs.available", Amount(absolute=200), grace_seconds=20.0, reclaim=Amount(absolute=50))
PIDS_LEFT = Threshold("pid.available", Amount(absolute=5))
ALL = (MEMORY_LEFT, DISK_LEFT, SOFT_IMAGES, PIDS_LEFT)


def left(signal, available):
    return {signal: SignalObservation(available, 1000)}


def memory(available):
    return left("memory.available", available)


@pytest.mark.parametrize(
    ("signal", "available", "condition"),
    [
        ("memory.available", 99, MEMORY_PRESSURE),
        ("nodefs.available", 99, DISK_PRESSURE),
        ("imagefs.inodesFree", 6, DISK_PRESSURE),
        ("pid.available", 4, PID_PRESSURE),
    ],
)
def test_a_hard_or_soft_threshold_is_met_at_once_below_its_amount(signal, available, condition):
    tracker = ThresholdTracker(ALL, 300.0)
    assert tracker.observe(left(signal, available + 1), 0.0).conditions == frozenset()
    assert tracker.observe(left(signal, available), 10.0).conditions == {condition}


def test_a_condition_stays_true_until_no_threshold_was_met_for_the_transition_period():
    tracker = ThresholdTracker(ALL, 300.0)
    assert tracker.observe(memory(50), 0.0).conditions == {MEMORY_PRESSURE}
    assert tracker.observe(memory(500), 10.0).conditions == {MEMORY_PRESSURE}
    assert tracker.observe(memory(50), 290.0).conditions == {MEMORY_PRESSURE}
    assert tracker.observe(memory(500), 589.0).conditions == {MEMORY_PRESSURE}
    assert tracker.observe(memory(500), 590.0).conditions == frozenset()


def test_a_condition_from_before_a_restart_stays_true_for_the_transition_period():
    tracker = ThresholdTracker(ALL, 300.0, conditions=[DISK_PRESSURE], now=1000.0)
    assert tracker.observe(memory(500), 1010.0).conditions == {DISK_PRESSURE}
    assert tracker.observe(memory(500), 1300.0).conditions == frozenset()


def test_the_minimum_reclaim_keeps_a_due_threshold_met():
    tracker = ThresholdTracker(ALL, 0.0)
    assert tracker.observe(left("nodefs.available", 149), 0.0).due == ()
    assert tracker.observe(left("nodefs.available", 99), 1.0).due == (DISK_LEFT,)
    assert tracker.observe(left("nodefs.available", 149), 2.0).due == (DISK_LEFT,)
    assert tracker.observe(left("nodefs.available", 150), 3.0).due == ()


def test_the_minimum_reclaim_does_not_count_before_the_grace_period_is_over():
    tracker = ThresholdTracker([SOFT_DISK], 0.0)
    assert tracker.observe(left("nodefs.available", 199), 0.0).due == ()
    assert tracker.observe(left("nodefs.available", 210), 10.0).conditions == frozenset()
    assert tracker.observe(left("nodefs.available", 199), 20.0).due == ()
    assert tracker.observe(left("nodefs.available", 199), 40.0).due == (SOFT_DISK,)
    assert tracker.observe(left("nodefs.available", 210), 50.0).due == (SOFT_DISK,)
    assert tracker.observe(left("nodefs.available", 250), 60.0).due == ()


def test_the_thresholds_of_a_missing_signal_stay_as_they_were_and_are_not_due():
    tracker = ThresholdTracker(ALL, 0.0)
    assert tracker.observe(memory(50), 0.0).due == (MEMORY_LEFT,)
    crossed = tracker.observe({}, 1000.0)
    assert crossed.conditions == {MEMORY_PRESSURE}
    assert crossed.due == ()
    assert tracker.observe(memory(500), 1001.0).conditions == frozenset()


def test_memory_thresholds_come_first_then_the_order_of_the_configuration():
    config = KubeletConfiguration(
        evictionHard={"pid.available": "10", "nodefs.available": "100", "memory.available": "100"},
        enforceNodeAllocatable=["none"],
    )
    tracker = ThresholdTracker(watched(config), 0.0)
    short = {signal: SignalObservation(1, 1000) for signal in ("pid.available", "nodefs.available", "memory.available")}
    due = [one.signal for one in tracker.observe(short, 0.0).due]
    assert due == ["memory.available", "pid.available", "nodefs.available"]


def test_hard_memory_thresholds_apply_to_allocatable_memory_where_it_is_enforced():
    config = KubeletConfiguration(
        evictionHard={"nodefs.available": "1", "memory.available": "100", "containerfs.available": "5"},
        evictionSoft={"memory.available": "200"},
        evictionSoftGracePeriod={"memory.available": "1m"},
        evictionMinimumReclaim={"memory.available": "7"},
    )
    found = [(one.signal, one.amount.absolute, one.grace_seconds) for one in watched(config)]
    assert found == [
        ("memory.available", 100, 0.0),
        ("memory.available", 200, 60.0),
        ("allocatableMemory.available", 100, 0.0),
        ("nodefs.available", 1, 0.0),
    ]
    assert watched(config)[2].reclaim == parse_reclaim("7")


def test_allocatable_memory_has_thresholds_of_its_own_and_one_that_is_switched_off_needs_no_grace_period():
    config = KubeletConfiguration(
        enforceNodeAllocatable=["none"],
        evictionHard={"nodefs.available": "1", "allocatableMemory.available": "100"},
        evictionSoft={"memory.available": "100%"},
    )
    found = [(one.signal, one.amount.absolute, one.grace_seconds) for one in watched(config)]
    assert found == [("allocatableMemory.available", 100, 0.0), ("nodefs.available", 1, 0.0)]


@pytest.mark.parametrize(
    ("layout", "copies"),
    [
        (DiskLayout.SINGLE, []),
        (DiskLayout.DEDICATED, ["containerfs.inodesFree"]),
        (DiskLayout.SPLIT, ["containerfs.available"]),
    ],
)
def test_containerfs_has_the_thresholds_of_the_disk_of_the_writable_layers(layout, copies):
    assert [one.signal for one in for_layout(ALL, layout)[len(ALL) :]] == copies


def test_after_a_clean_up_the_minimum_reclaim_must_be_available_too():
    assert still_met(ALL, left("nodefs.available", 149))
    assert not still_met(ALL, left("nodefs.available", 150))


def test_the_headroom_ends_at_the_nearest_memory_threshold_that_is_not_met():
    soft = Threshold("memory.available", Amount(absolute=300), grace_seconds=5.0)
    assert headroom([MEMORY_LEFT, soft, DISK_LEFT], memory(500)) == 200
    assert headroom([MEMORY_LEFT, soft], memory(250)) == 150
    assert headroom([MEMORY_LEFT, soft], memory(100)) == 0
    assert headroom([MEMORY_LEFT, soft], memory(50)) is None
    assert headroom([DISK_LEFT], memory(50)) is None


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100)), min_size=1), st.integers(0, 50))
def test_a_condition_is_true_exactly_when_its_threshold_was_met_within_the_period(looks, period):
    tracker, now, met = ThresholdTracker([MEMORY_LEFT], period), 0.0, None
    for available, later in looks:
        now += later
        met = now if available < 100 else met
        known = available < 100 or (met is not None and now - met < period)
        assert (tracker.observe(memory(available), now).conditions == {MEMORY_PRESSURE}) is known


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30)), min_size=1),
    st.integers(0, 60),
    st.integers(0, 100),
)
def test_a_threshold_is_due_from_the_end_of_its_grace_period_until_enough_is_reclaimed(looks, grace, reclaim):
    threshold = Threshold("nodefs.available", Amount(absolute=200), float(grace), Amount(absolute=reclaim))
    tracker, now, since, due = ThresholdTracker([threshold], 60.0), 0.0, None, False
    for available, later in looks:
        now += later
        met = available < 200 or (due and available < 200 + reclaim)
        since = (now if since is None else since) if met else None
        due = since is not None and now - since >= grace
        crossed = tracker.observe(left("nodefs.available", available), now)
        assert crossed.due == ((threshold,) if due else ())
        assert not met or crossed.conditions == {CONDITION_OF["nodefs.available"]}
