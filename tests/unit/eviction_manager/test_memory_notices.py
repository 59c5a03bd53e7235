"""At which usage of which cgroup the kernel is to say something."""

from actors.eviction_manager.memory_notices import Mark, marks
from actors.eviction_manager.thresholds import Observation
from actors.shared.config.fields.eviction import Amount, Threshold

HARD = Threshold("memory.available", Amount(absolute=100))
SOFT = Threshold("memory.available", Amount(percent=30.0), grace_seconds=60.0)
PODS = Threshold("allocatableMemory.available", Amount(absolute=100))
DISK = Threshold("nodefs.available", Amount(absolute=100))
INACTIVE = {"": 40, "/kubepods": 7}


def left(node, pods):
    return {
        "memory.available": Observation(node, 1000),
        "allocatableMemory.available": Observation(pods, 500),
        "nodefs.available": Observation(900, 1000),
    }


def test_pages_of_files_that_nobody_uses_are_available_and_counted_as_used():
    found = marks([HARD, SOFT, PODS, DISK], left(900, 400), INACTIVE, "/kubepods")
    assert found == [Mark("", 940), Mark("", 740), Mark("/kubepods", 407)]


def test_what_is_met_already_needs_no_notice():
    assert marks([HARD, SOFT, PODS], left(200, 50), INACTIVE, "/kubepods") == [Mark("", 940)]


def test_without_a_cgroup_of_all_pods_only_the_node_is_watched():
    assert marks([HARD, PODS], left(900, 400), INACTIVE, "") == [Mark("", 940)]
    assert marks([HARD, PODS], {}, INACTIVE, "/kubepods") == []
