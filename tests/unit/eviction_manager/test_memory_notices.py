"""The memory usage at which the kernel sends a notification."""

import logging

from actors.eviction_manager.memory_notices import Mark, MemoryNotices, marks
from actors.eviction_manager.thresholds import SignalObservation
from actors.shared.config.fields.eviction import Amount, Threshold
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree

HARD = Threshold("memory.available", Amount(absolute=100))
SOFT = Threshold("memory.available", Amount(percent=30.0), grace_seconds=60.0)
PODS = Threshold("allocatableMemory.available", Amount(absolute=100))
DISK = Threshold("nodefs.available", Amount(absolute=100))
INACTIVE = {"": 40, "/kubepods": 7}


def available(node, pods):
    return {
        "memory.available": SignalObservation(node, 1000),
        "allocatableMemory.available": SignalObservation(pods, 500),
        "nodefs.available": SignalObservation(900, 1000),
    }


def test_a_mark_is_raised_by_the_inactive_file_pages():
    requested = marks([HARD, SOFT, PODS, DISK], available(900, 400), INACTIVE, "/kubepods")
    assert requested == [Mark("", 940), Mark("", 740), Mark("/kubepods", 407)]


def test_a_threshold_that_is_met_has_no_mark():
    assert marks([HARD, SOFT, PODS], available(200, 50), INACTIVE, "/kubepods") == [Mark("", 940)]


def test_without_a_cgroup_of_all_pods_only_the_node_has_marks():
    assert marks([HARD, PODS], available(900, 400), INACTIVE, "") == [Mark("", 940)]
    assert marks([HARD, PODS], {}, INACTIVE, "/kubepods") == []


async def test_a_notification_that_cannot_be_requested_is_named_once_and_requested_again(tmp_path, caplog):
    tree = CgroupTree((Hierarchy(str(tmp_path), frozenset({"memory"}), unified=False),))
    notices = MemoryNotices(tree, lambda: None, logging.getLogger("notices"), notifies=True)
    for _ in range(3):
        notices.arm([HARD], available(900, 400), "")
    assert len(caplog.messages) == 1
    (tmp_path / "memory.usage_in_bytes").write_text("0")
    (control := tmp_path / "cgroup.event_control").write_text("")
    notices.arm([HARD], available(900, 400), "")
    assert control.read_text().endswith(" 900")
    notices.arm([], {}, "")
