import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.config_controller.change import differing, renewed, step, told
from actors.config_controller.readers import ENGINE, READERS, RESTART, UNREAD, can_change, fields_read_by, readers_of
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

FIELDS = KubeletConfiguration.__struct_fields__
RUNNING = KubeletConfiguration()


def other(**fields):
    return msgspec.structs.replace(RUNNING, **fields)


def test_every_field_has_readers_or_waits_for_a_restart_or_is_read_by_nobody():
    read = {field for fields in READERS.values() for field in fields}
    assert set(FIELDS) == read | RESTART | UNREAD | ENGINE
    assert read & RESTART == read & UNREAD == RESTART & UNREAD == set()


def test_a_field_changes_unless_it_is_read_before_there_are_actors():
    assert readers_of("syncFrequency") == ("pod_workers/worker/*",)
    assert can_change("syncFrequency")
    assert can_change("hairpinMode")
    assert not can_change("podLogsDir")


def test_who_reads_what_changed_and_does_not_listen_is_renewed():
    assert renewed(["maxPods", "syncFrequency"], [], 2) == (
        "pod_workers/worker/0", "pod_workers/worker/1", "container_manager",
    )  # fmt: skip
    assert renewed(["maxPods", "syncFrequency"], ["container_manager", "pod_workers/worker/1"], 2) == (
        "pod_workers/worker/0",
    )
    assert renewed(["hairpinMode", "logging"], [], 2) == ()


def test_a_step_takes_what_can_change_and_leaves_the_rest():
    wanted = other(maxPods=5, syncFrequency=RUNNING.fileCheckFrequency, oomScoreAdj=0)
    made, changed = step(RUNNING, wanted)
    assert (set(changed), made.maxPods, made.oomScoreAdj) == ({"maxPods", "syncFrequency"}, 5, -999)
    assert differing(made, wanted) == ("oomScoreAdj",)


def test_only_those_who_read_what_changed_are_told():
    listeners = ["container_manager", "pleg", "pod_workers/worker/0", "pod_workers/worker/1", "someone"]
    assert told(["maxPods", "syncFrequency"], listeners) == {
        "container_manager": ("maxPods",),
        "pod_workers/worker/0": ("syncFrequency",),
        "pod_workers/worker/1": ("syncFrequency",),
    }
    assert fields_read_by("pleg", FIELDS) == ("podCIDR", "runtimeRequestTimeout", "tracing")


@given(st.integers(0, 500), st.integers(1, 600))
def test_a_step_never_goes_anywhere_but_towards_what_is_wanted(pods, seconds):
    wanted = other(maxPods=pods, nodeLeaseDurationSeconds=seconds, failSwapOn=False)
    made, changed = step(RUNNING, wanted)
    assert set(differing(RUNNING, made)) == set(changed)
    assert set(differing(made, wanted)) == set(differing(RUNNING, wanted)) - set(changed)
