"""What the node is short of, over time, and whom it refuses then."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.pressure import DISK, MEMORY, PIDS, Pressure, Seen, refuse
from actors.shared.config.fields.eviction import Amount, Threshold
from actors.shared.kube.codec import decode_pod, encode

MEMORY_LEFT = Threshold("memory.available", Amount(absolute=100))
DISK_LEFT = Threshold("nodefs.available", Amount(percent=10.0), reclaim=Amount(absolute=50))
SOFT_IMAGES = Threshold("imagefs.inodesFree", Amount(absolute=7), grace_seconds=90.0)
PIDS_LEFT = Threshold("pid.available", Amount(absolute=5))
ALL = (MEMORY_LEFT, DISK_LEFT, SOFT_IMAGES, PIDS_LEFT)


def memory(available):
    return {"memory.available": Seen(available, 1000)}


@pytest.mark.parametrize(
    ("signal", "available", "kind"),
    [
        ("memory.available", 99, MEMORY),
        ("nodefs.available", 99, DISK),
        ("imagefs.inodesFree", 6, DISK),
        ("pid.available", 4, PIDS),
    ],
)
def test_a_threshold_is_crossed_by_less_than_its_amount_soft_ones_at_once_too(signal, available, kind):
    pressure = Pressure(ALL, 300.0)
    assert pressure.look({signal: Seen(available + 1, 1000)}, 0.0) == frozenset()
    assert pressure.look({signal: Seen(available, 1000)}, 10.0) == {kind}


def test_a_condition_holds_until_nothing_was_crossed_for_the_transition_period():
    pressure = Pressure(ALL, 300.0)
    assert pressure.look(memory(50), 0.0) == {MEMORY}
    assert pressure.look(memory(500), 10.0) == {MEMORY}
    assert pressure.look(memory(50), 290.0) == {MEMORY}
    assert pressure.look(memory(500), 589.0) == {MEMORY}
    assert pressure.look(memory(500), 590.0) == frozenset()


def test_what_is_to_be_reclaimed_keeps_a_threshold_crossed():
    pressure = Pressure(ALL, 0.0)
    assert pressure.look({"nodefs.available": Seen(149, 1000)}, 0.0) == frozenset()
    assert pressure.look({"nodefs.available": Seen(99, 1000)}, 1.0) == {DISK}
    assert pressure.look({"nodefs.available": Seen(149, 1000)}, 2.0) == {DISK}
    assert pressure.look({"nodefs.available": Seen(150, 1000)}, 3.0) == frozenset()


def test_a_signal_that_was_not_seen_is_as_it_was():
    pressure = Pressure(ALL, 0.0)
    pressure.look(memory(50), 0.0)
    assert pressure.look({}, 1000.0) == {MEMORY}
    assert pressure.look(memory(500), 1001.0) == frozenset()


def test_signals_that_no_condition_is_of_are_passed_over():
    assert Pressure([Threshold("containerfs.available", Amount(absolute=10))], 0.0).look({}, 0.0) == frozenset()


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100)), min_size=1), st.integers(0, 50))
def test_a_condition_is_there_exactly_when_its_threshold_was_crossed_within_the_period(looks, period):
    pressure, now, crossed = Pressure([MEMORY_LEFT], period), 0.0, None
    for available, later in looks:
        now += later
        crossed = now if available < 100 else crossed
        known = available < 100 or (crossed is not None and now - crossed < period)
        assert (pressure.look(memory(available), now) == {MEMORY}) is known


def pod(request="", **more):
    resources = {"requests": {"memory": request}} if request else {}
    spec = {"containers": [{"name": "c", "resources": resources}], **more}
    return decode_pod(encode({"metadata": {"name": "p", "annotations": more.pop("annotations", {})}, "spec": spec}))


TOLERATED = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("short", "comes", "refused"),
    [
        ({}, pod(), False),
        ({MEMORY}, pod(), True),
        ({MEMORY}, pod("1Mi"), False),
        ({MEMORY}, pod(tolerations=TOLERATED), False),
        ({MEMORY}, pod(tolerations=[{"operator": "Exists"}]), False),
        ({MEMORY}, pod(tolerations=[{**TOLERATED[0], "effect": "NoExecute"}]), True),
        ({DISK}, pod("1Mi"), True),
        ({MEMORY, PIDS}, pod("1Mi"), True),
        ({MEMORY, DISK, PIDS}, pod(priority=2000000000), False),
        ({DISK}, pod(annotations={"kubernetes.io/config.source": "file"}), False),
    ],
)
def test_who_is_refused(short, comes, refused):
    assert (refuse(comes, frozenset(short)) is not None) is refused


def test_a_refusal_names_the_conditions_as_the_reference_does():
    refusal = refuse(pod(), frozenset({PIDS, MEMORY}))
    assert refusal is not None
    assert (refusal.reason, refusal.message) == ("Evicted", "The node had condition: [MemoryPressure PIDPressure]. ")
