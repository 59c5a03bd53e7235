"""Limits of a pod's cgroup, by QoS class."""

import msgspec
import pytest

from actors.container_manager.cgroups.pod_limits import (
    Rules,
    larger,
    milli_to_quota,
    milli_to_shares,
    pod_limits,
    rules_of,
)
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import Pod, PodSpec
from actors.shared.linux.cgroup_limits import CgroupLimits

RULES = Rules()


def container(requests=None, limits=None, **fields):
    return Container(name="c", resources=ResourceRequirements(requests=requests or {}, limits=limits or {}), **fields)


def pod(*containers, **spec):
    return Pod(spec=PodSpec(containers=list(containers), **spec))


def test_best_effort_gets_the_least_cpu_and_no_limit():
    assert pod_limits(pod(container()), RULES) == CgroupLimits(cpu_shares=2, memory_low=0)


def test_best_effort_has_the_huge_pages_that_it_requests_and_its_overhead_is_protected():
    pages = container(limits={"hugepages-2Mi": "4Mi"}, requests={"hugepages-2Mi": "4Mi", "memory": "0"})
    rules = Rules(huge_pages=("hugepages-1Gi", "hugepages-2Mi"), memory_tiers=True)

    found = pod_limits(pod(pages, overhead={"memory": "1Mi"}), rules)

    assert found == CgroupLimits(cpu_shares=2, memory_low=1 << 20, hugetlb={"1GB": 0, "2MB": 4 << 20})


def test_a_best_effort_pod_has_no_limit_of_its_own_with_any_rules():
    rules = Rules(cfs_period_us=50_000, pids=9, memory_tiers=True, huge_pages=("hugepages-2Mi",))
    found = pod_limits(pod(container({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"})), rules)
    assert (found.cpu_shares, found.cpu_quota_us, found.memory_bytes, found.pids) == (2, None, None, 9)
    assert (found.memory_min, found.memory_low, found.hugetlb) == (None, 0, {"2MB": 0})


def test_the_overhead_of_a_best_effort_pod_gives_it_no_weight():
    found = pod_limits(pod(container(), overhead={"cpu": "250m", "memory": "64Mi"}), RULES)

    assert found.cpu_shares == 2
    assert found.cpu_quota_us is None
    assert found.memory_bytes is None


def test_burstable_without_limits_gets_shares_only():
    assert pod_limits(pod(container({"cpu": "500m", "memory": "1Mi"})), RULES) == CgroupLimits(
        cpu_shares=512, memory_low=0
    )


def test_a_limit_counts_only_when_every_container_has_one():
    both = container({"cpu": "100m"}, {"cpu": "200m", "memory": "1Mi"})
    neither = container({"cpu": "100m"})

    limited, unlimited = pod_limits(pod(both, both), RULES), pod_limits(pod(both, neither), RULES)
    assert limited == CgroupLimits(cpu_shares=204, cpu_quota_us=40000, memory_bytes=2 << 20, memory_low=0)
    assert unlimited == CgroupLimits(cpu_shares=204, memory_low=0)


def test_a_guaranteed_pod_is_limited_to_its_requests():
    found = pod_limits(pod(container(limits={"cpu": "1", "memory": "1Gi"})), RULES)

    assert found == CgroupLimits(cpu_shares=1024, cpu_quota_us=100000, memory_bytes=1 << 30, memory_min=0)


def test_an_init_container_raises_the_limit_and_a_sidecar_adds_to_it():
    main = container(limits={"cpu": "1", "memory": "1Mi"})
    big = container(limits={"cpu": "3", "memory": "1Mi"})
    sidecar = container(limits={"cpu": "1", "memory": "1Mi"}, restartPolicy="Always")

    assert pod_limits(pod(main, initContainers=[big]), RULES).cpu_quota_us == 300_000
    assert pod_limits(pod(main, initContainers=[sidecar, big]), RULES).cpu_quota_us == 400_000
    assert pod_limits(pod(main, initContainers=[sidecar]), RULES).memory_bytes == 2 << 20


def test_the_pods_own_limits_win_over_its_containers():
    own = ResourceRequirements(limits={"cpu": "2", "memory": "4Mi"}, requests={"cpu": "1"})

    found = pod_limits(pod(container(), resources=own), RULES)

    assert (found.cpu_shares, found.cpu_quota_us, found.memory_bytes) == (1024, 200_000, 4 << 20)


def test_overhead_is_added():
    found = pod_limits(pod(container(limits={"cpu": "1", "memory": "1Mi"}), overhead={"cpu": "500m"}), RULES)

    assert (found.cpu_shares, found.cpu_quota_us) == (1536, 150_000)


def test_the_configuration_can_do_without_quota_and_set_period_and_processes():
    guaranteed = pod(container(limits={"cpu": "1", "memory": "1Mi"}))

    assert pod_limits(guaranteed, Rules(cfs_quota=False)).cpu_quota_us is None
    assert pod_limits(guaranteed, Rules(cfs_period_us=10_000)).cpu_quota_us == 10_000
    assert [pod_limits(guaranteed, Rules(pids=pids)).pids for pids in (77, 1, 0, -1)] == [77, 1, None, None]
    assert pod_limits(pod(container()), Rules(pids=77)).pids == 77


def test_huge_pages_are_limited_by_the_kernels_names():
    found = pod_limits(pod(container(limits={"cpu": "1", "memory": "1Mi", "hugepages-2Mi": "4Mi"})), RULES)

    assert found.hugetlb == {"2MB": 4 << 20}


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (2, 2), (1000, 1024), (1500, 1536), (10**9, 262144)])
def test_shares_are_those_of_the_kubelet(milli, shares):
    assert milli_to_shares(milli) == shares


@pytest.mark.parametrize(
    ("milli", "period", "quota"),
    [(1, 100_000, 1000), (10, 100_000, 1000), (11, 100_000, 1100), (1500, 100_000, 150_000), (1001, 10_000, 10_010)],
)
def test_a_quota_is_the_share_of_the_period_and_never_below_what_the_kernel_takes(milli, period, quota):
    assert milli_to_quota(milli, period) == quota


def test_between_two_sizes_a_pod_has_the_larger_limits():
    small, big = (
        CgroupLimits(cpu_shares=2, cpu_quota_us=1000, memory_bytes=9),
        CgroupLimits(cpu_shares=4, cpu_quota_us=500),
    )
    assert larger(small, big) == CgroupLimits(cpu_shares=2, cpu_quota_us=1000, memory_bytes=-1)
    assert larger(big, big) == big


def test_a_pod_has_no_huge_pages_of_a_size_that_it_does_not_request():
    rules = Rules(huge_pages=("hugepages-2Mi", "hugepages-1Gi"))
    asking = pod(container(limits={"cpu": "1", "memory": "1Mi", "hugepages-2Mi": "4Mi"}))

    assert pod_limits(pod(container()), rules).hugetlb == {"2MB": 0, "1GB": 0}
    assert pod_limits(pod(container({"cpu": "1m"})), rules).hugetlb == {"2MB": 0, "1GB": 0}
    assert pod_limits(asking, rules).hugetlb == {"2MB": 4 << 20, "1GB": 0}


def test_the_rules_are_those_of_the_configuration_and_the_sizes_of_huge_pages_those_of_the_node():
    assert rules_of(KubeletConfiguration(), ["cpu"]) == Rules()
    config = KubeletConfiguration(
        cpuCFSQuota=False,
        cpuCFSQuotaPeriod=Duration.parse("50ms"),
        podPidsLimit=77,
        featureGates={"MemoryQoS": True},
        memoryReservationPolicy="TieredReservation",
    )
    found = rules_of(config, ["cpu", "hugepages-2Mi", "pods"])
    assert found == Rules(False, 50_000, 77, memory_tiers=True, huge_pages=("hugepages-2Mi",))
    for other in ({"featureGates": {"MemoryQoS": False}}, {"memoryReservationPolicy": "None"}):
        assert not rules_of(msgspec.structs.replace(config, **other), ()).memory_tiers


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(None, None, None), (5, None, -1), (None, 5, -1), (5, 9, 9), (9, 5, 9)],
)
def test_during_a_resize_a_pod_has_the_larger_limit_and_none_if_one_is_missing(one, other, expected):
    both = larger(
        CgroupLimits(cpu_quota_us=one, memory_bytes=one), CgroupLimits(cpu_quota_us=other, memory_bytes=other)
    )
    assert (both.cpu_quota_us, both.memory_bytes) == (expected, expected)


def test_memory_that_a_pod_requests_is_protected_by_its_class_and_no_longer_without_the_policy():
    rules = Rules(memory_tiers=True)
    both = {"cpu": "1", "memory": "1Gi"}
    guaranteed, burstable = pod(container(both, both)), pod(container({"memory": "1Gi"}))
    assert (pod_limits(guaranteed, rules).memory_min, pod_limits(guaranteed, rules).memory_low) == (1 << 30, None)
    assert (pod_limits(burstable, rules).memory_min, pod_limits(burstable, rules).memory_low) == (None, 1 << 30)
    assert pod_limits(pod(container()), rules) == pod_limits(pod(container()), RULES)
    assert (pod_limits(guaranteed, RULES).memory_min, pod_limits(burstable, RULES).memory_low) == (0, 0)
