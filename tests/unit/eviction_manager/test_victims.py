"""Which pod is evicted, and how."""

import pytest
from msgspec.structs import replace

from actors.eviction_manager.resources import DiskLayout
from actors.eviction_manager.usage import ContainerUsage, DiskUsage, PodUsage
from actors.eviction_manager.usage_reader import disk_usage
from actors.eviction_manager.victims import evictable, of_threshold, over_limits, preempted, victim
from actors.shared.config.fields.eviction import Amount, Threshold

from .pods import active, container

MI = 1 << 20


def test_critical_pods_and_pods_that_are_evicted_already_are_not_selected():
    pods = [
        active(uid="static", annotations={"kubernetes.io/config.source": "file"}),
        active(uid="mirror", annotations={"kubernetes.io/config.mirror": "x"}),
        active(uid="critical", priority=2000000000),
        active(uid="ending"),
        active(uid="plain", priority=1999999999),
    ]
    assert [one.uid for one in evictable(pods, {"ending"})] == ["plain"]


def test_for_memory_the_usage_over_the_request_counts():
    pods = [active(container(requests={"memory": "100Mi"}), uid="a"), active(uid="b")]
    usages = {"a": PodUsage(memory=90 * MI), "b": PodUsage(memory=MI)}
    assert chosen(pods, usages, "memory.available", DiskLayout.SINGLE) == "b"
    assert chosen(pods, {**usages, "a": PodUsage(memory=102 * MI)}, "memory.available", DiskLayout.SINGLE) == "a"
    assert victim([], {}, "memory.available", DiskLayout.SINGLE) is None


def test_the_lowest_priority_of_pods_over_their_requests_is_evicted_and_a_missing_one_is_zero():
    pods = [active(uid="high", priority=5), active(uid="none"), active(uid="low", priority=-5)]
    usages = {"high": PodUsage(memory=9 * MI), "none": PodUsage(memory=2 * MI), "low": PodUsage(memory=MI)}
    assert chosen(pods, usages, "memory.available", DiskLayout.SINGLE) == "low"
    assert chosen(pods[:2], usages, "memory.available", DiskLayout.SINGLE) == "none"


def test_overhead_is_requested_memory_only_beside_a_request():
    small = {"memory": "10Mi"}
    pods = [active(container(requests=small), uid="asks", overhead=small), active(uid="asks-none", overhead=small)]
    usages = {"asks": PodUsage(memory=20 * MI), "asks-none": PodUsage(memory=MI)}
    assert chosen(pods, usages, "memory.available", DiskLayout.SINGLE) == "asks-none"
    assert chosen(pods, {**usages, "asks": PodUsage(memory=22 * MI)}, "memory.available", DiskLayout.SINGLE) == "asks"


def test_only_the_chosen_pods_are_preempted():
    evictions = preempted([active(uid="a"), active(uid="b"), active(uid="c")], {"a", "c"}, "cpu")
    assert [(one.uid, one.signal) for one in evictions] == [("a", "cpu"), ("c", "cpu")]


def chosen(pods, usages, signal, layout):
    found = victim(pods, usages, signal, layout)
    return found.uid if found is not None else None


def disks(rootfs=0, logs=0, volume=0):
    parts = ContainerUsage(rootfs=DiskUsage(rootfs, rootfs), logs=DiskUsage(logs, logs))
    return PodUsage(containers={"main": parts}, volumes={"v": DiskUsage(volume, volume)})


EMPTY_DIR = [{"name": "v", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("signal", "layout", "expected"),
    [
        ("nodefs.available", DiskLayout.SINGLE, "layers"),
        ("imagefs.inodesFree", DiskLayout.SINGLE, "layers"),
        ("nodefs.available", DiskLayout.DEDICATED, "volumes"),
        ("nodefs.inodesFree", DiskLayout.DEDICATED, "volumes"),
        ("imagefs.available", DiskLayout.DEDICATED, "layers"),
        ("containerfs.available", DiskLayout.DEDICATED, "layers"),
        ("nodefs.available", DiskLayout.SPLIT, "layers"),
        ("containerfs.inodesFree", DiskLayout.SPLIT, "layers"),
    ],
)
def test_only_usage_of_the_full_disk_counts(signal, layout, expected):
    pods = [active(uid="layers"), active(uid="volumes", volumes=EMPTY_DIR), active(uid="logs")]
    usages = {"layers": disks(rootfs=900), "volumes": disks(volume=500), "logs": disks(logs=100)}
    assert chosen(pods, usages, signal, layout) == expected


def test_volumes_that_are_not_on_the_nodes_disk_do_not_count():
    memory = [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    pods = [active(uid="memory", volumes=memory), active(uid="disk", volumes=EMPTY_DIR)]
    usages = {"memory": disks(volume=900), "disk": disks(volume=5)}
    assert chosen(pods, usages, "nodefs.available", DiskLayout.SINGLE) == "disk"


SOFT = Threshold("memory.available", Amount(absolute=1), grace_seconds=30.0)


@pytest.mark.parametrize(
    ("threshold", "most", "own", "grace"),
    [
        (replace(SOFT, grace_seconds=0.0), 60, 30, 1),
        (SOFT, 60, 30, 30),
        (SOFT, 20, 30, 20),
        (SOFT, 20, None, 20),
        (SOFT, 0, 30, 1),
        (SOFT, -5, 30, 1),
        (SOFT, 60, 0, 1),
    ],
)
def test_the_grace_period_is_a_second_for_a_hard_threshold_and_configured_for_a_soft_one(threshold, most, own, grace):
    found = of_threshold(active(terminationGracePeriodSeconds=own), None, threshold, None, most)
    assert found.grace_seconds == grace
    assert (found.signal, found.disruption) == ("memory.available", "The node was low on resource: memory. ")


def test_a_pod_over_a_limit_is_evicted_at_once_without_a_disruption_condition():
    pods = [
        active(uid="over", volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1"}}]),
        active(uid="within", volumes=[{"name": "v", "emptyDir": {"sizeLimit": "100"}}]),
        active(uid="unmeasured", volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1"}}]),
    ]
    (found,) = over_limits(pods, {"over": disks(volume=50), "within": disks(volume=50)}, DiskLayout.SINGLE)
    assert (found.uid, found.grace_seconds, found.signal) == ("over", 1, "emptydirfs.limit")
    assert (found.disruption, found.annotations) == ("", {})


def test_the_disk_usage_of_a_pod_includes_the_writable_layers_of_its_containers():
    def size(bytes_, inodes):
        return {"used_bytes": bytes_, "inodes_used": inodes}

    measured = {"volumes": {"v": size(5, 6)}, "logs": {"main": size(1, 2), "gone": size(7, 8)}, "own": size(3, 4)}
    pod = replace(active(), containers={"main": "id1", "silent": "id2"})
    assert disk_usage(pod, measured, {"id1": DiskUsage(10, 20), "id2": DiskUsage(30, 40)}) == PodUsage(
        containers={
            "main": ContainerUsage(rootfs=DiskUsage(10, 20), logs=DiskUsage(1, 2)),
            "gone": ContainerUsage(logs=DiskUsage(7, 8)),
            "silent": ContainerUsage(rootfs=DiskUsage(30, 40)),
        },
        volumes={"v": DiskUsage(5, 6)},
        own=DiskUsage(3, 4),
    )
