import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.config_controller.consumers import ENGINE, RESTART, UNREAD, can_change, consumers_of
from actors.config_controller.in_force import InForce, differing
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import RELATIONS

CONSUMERS = RELATIONS.consumers
FIELDS = KubeletConfiguration.__struct_fields__
RUNNING = KubeletConfiguration()
BEFORE = InForce(running=RUNNING, desired=RUNNING)


def other(**fields):
    return msgspec.structs.replace(RUNNING, **fields)


def test_every_field_has_consumers_or_waits_for_a_restart_or_is_unread():
    read = {field for fields in CONSUMERS.values() for field in fields}
    assert set(FIELDS) == read | RESTART | UNREAD | ENGINE
    assert read & RESTART == read & UNREAD == RESTART & UNREAD == set()


def test_a_field_can_change_unless_it_is_read_before_the_actors_start():
    assert consumers_of(["syncFrequency"], CONSUMERS, workers=1) == ("pod_workers/worker/0",)
    assert can_change("syncFrequency")
    assert can_change("hairpinMode")
    assert not can_change("podLogsDir")


def test_the_actors_that_read_a_changed_field_restart():
    after, _ = BEFORE.changed_to(other(maxPods=5, syncFrequency=RUNNING.fileCheckFrequency), CONSUMERS, workers=2)
    assert after.to_restart == ("container_manager", "pod_workers/worker/0", "pod_workers/worker/1")
    assert after.restarted(("pod_workers/worker/1", "container_manager")).to_restart == ("pod_workers/worker/0",)
    assert BEFORE.changed_to(other(hairpinMode="none"), CONSUMERS, workers=2)[0].to_restart == ()


def test_fields_that_can_change_at_run_time_change_and_the_others_wait_for_a_restart():
    after, changed = BEFORE.changed_to(other(maxPods=5, oomScoreAdj=0), CONSUMERS, workers=1)
    assert (changed, after.running.maxPods, after.running.oomScoreAdj) == (("maxPods",), 5, -999)
    assert after.waiting == ("oomScoreAdj",)


def test_the_cgroup_driver_of_the_runtime_wins_over_later_configurations():
    after = BEFORE.with_cgroup_driver("systemd")
    later, changed = after.changed_to(other(cgroupDriver="cgroupfs", maxPods=5), CONSUMERS, workers=1)
    assert (later.running.cgroupDriver, changed, later.waiting) == ("systemd", ("maxPods",), ())


@given(st.integers(0, 500), st.integers(1, 600))
def test_every_changed_field_gets_its_desired_value(pods, seconds):
    desired = other(maxPods=pods, nodeLeaseDurationSeconds=seconds, failSwapOn=False)
    after, changed = BEFORE.changed_to(desired, CONSUMERS, workers=2)
    assert set(differing(RUNNING, after.running)) == set(changed)
    assert set(after.waiting) == set(differing(RUNNING, desired)) - set(changed)
