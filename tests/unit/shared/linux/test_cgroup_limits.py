"""What is written for a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.linux.cgroup_limits import (
    UNLIMITED,
    CgroupLimits,
    shares_to_weight,
    unit_properties,
    writes_v1,
    writes_v2,
)

EVERYTHING = CgroupLimits(cpu_shares=512, cpu_quota_us=50_000, memory_bytes=1 << 20, pids=100, hugetlb={"2MB": 4 << 20})


def test_v1_files():
    assert writes_v1(EVERYTHING) == [
        ("cpu", "cpu.shares", "512"),
        ("cpu", "cpu.cfs_period_us", "100000"),
        ("cpu", "cpu.cfs_quota_us", "50000"),
        ("memory", "memory.limit_in_bytes", "1048576"),
        ("pids", "pids.max", "100"),
        ("hugetlb", "hugetlb.2MB.limit_in_bytes", "4194304"),
    ]


def test_v2_files():
    assert writes_v2(EVERYTHING) == [
        ("cpu", "cpu.weight", "20"),
        ("cpu", "cpu.max", "50000 100000"),
        ("memory", "memory.max", "1048576"),
        ("pids", "pids.max", "100"),
        ("hugetlb", "hugetlb.2MB.max", "4194304"),
    ]


def test_limits_that_are_not_set_are_not_written():
    assert writes_v1(CgroupLimits()) == writes_v2(CgroupLimits()) == []
    assert unit_properties(CgroupLimits(), 1) == unit_properties(CgroupLimits(), 2) == {}


def test_a_limit_can_be_taken_away():
    free = CgroupLimits(cpu_quota_us=UNLIMITED, memory_bytes=UNLIMITED, pids=UNLIMITED)

    assert [text for _, _, text in writes_v2(free)] == ["max 100000", "max", "max"]
    assert [text for _, _, text in writes_v1(free)] == ["100000", "-1", "-1", "max"]
    assert {value for _, value in unit_properties(free, 2).values()} == {2**64 - 1}


@pytest.mark.parametrize(
    ("shares", "weight"), [(0, 1), (2, 1), (1024, 39), (8192, 313), (262143, 9999), (262144, 10000), (10**6, 10000)]
)
def test_weights_are_in_proportion_to_shares_as_the_kubelets(shares, weight):
    assert shares_to_weight(shares) == weight


@given(st.integers(2, 262144), st.integers(2, 262144))
def test_more_shares_never_weigh_less(one, other):
    low, high = sorted((one, other))

    assert 1 <= shares_to_weight(low) <= shares_to_weight(high) <= 10000


def test_systemd_gets_the_same_limits_by_its_own_names():
    assert unit_properties(EVERYTHING, 2) == {
        "CPUWeight": ("t", 20),
        "CPUQuotaPerSecUSec": ("t", 500_000),
        "MemoryMax": ("t", 1 << 20),
        "TasksMax": ("t", 100),
    }
    assert unit_properties(EVERYTHING, 1).keys() >= {"CPUShares", "MemoryLimit"}


def test_systemd_never_gives_less_than_the_quota():
    properties = unit_properties(CgroupLimits(cpu_quota_us=1234), 2)

    assert properties["CPUQuotaPerSecUSec"] == ("t", 20_000)


def test_memory_is_protected_on_v2_only():
    limits = CgroupLimits(memory_min=4096, memory_low=8192)
    assert writes_v1(limits) == []
    assert writes_v2(limits) == [("memory", "memory.min", "4096"), ("memory", "memory.low", "8192")]
    assert unit_properties(limits, 1) == {}
    assert unit_properties(limits, 2) == {"MemoryMin": ("t", 4096), "MemoryLow": ("t", 8192)}


def test_systemd_gets_cpus_as_a_bit_mask_on_v2_only():
    limits = CgroupLimits(cpus=frozenset({0, 1, 9}))
    assert writes_v1(limits) == []
    assert writes_v2(limits) == [("cpuset", "cpuset.cpus", "0,1,9")]
    assert unit_properties(limits, 1) == {}
    assert unit_properties(limits, 2) == {"AllowedCPUs": ("ay", bytes([0b11, 0b10]))}
