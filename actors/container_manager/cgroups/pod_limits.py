"""The limits of a pod's cgroup (the kubelet's ResourceConfigForPod). Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.huge_pages import is_huge_pages, page_size
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import cgroup_limits, pod_requests, qos_class
from actors.shared.linux.cgroup_limits import MAX_SHARES, MIN_SHARES, UNLIMITED, CgroupLimits

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"
_MIN_QUOTA_US = 1000


class Rules(msgspec.Struct, frozen=True):
    """The input of the limits besides the pod."""

    cfs_quota: bool = True
    cfs_period_us: int = 100_000
    pids: int = -1
    """The largest number of processes of a pod; -1 is no limit."""
    memory_tiers: bool = False
    """Whether the pods' requested memory is protected (MemoryQoS with TieredReservation)."""
    huge_pages: tuple[str, ...] = ()
    """The node's huge page resources, `hugepages-2Mi`. A pod gets none of a size that it does not request."""


def rules_of(config: KubeletConfiguration, resources: Iterable[str]) -> Rules:
    """`resources`: the names of the node's resources."""
    period = round(float(config.cpuCFSQuotaPeriod) * 1_000_000)
    pages = tuple(filter(is_huge_pages, resources))
    return Rules(config.cpuCFSQuota, period, config.podPidsLimit, protects_memory(config), pages)


def protects_memory(config: KubeletConfiguration) -> bool:
    """Whether the kernel must not reclaim the pods' requested memory (KEP-2570); only cgroup v2 can protect it."""
    return enabled("MemoryQoS", config.featureGates) and config.memoryReservationPolicy == "TieredReservation"


def milli_to_shares(milli: int) -> int:
    """cpu.shares for thousandths of a core."""
    return min(MAX_SHARES, max(MIN_SHARES, milli * 1024 // 1000))


def milli_to_quota(milli: int, period_us: int) -> int:
    """CFS quota in microseconds for thousandths of a core, not 0."""
    return max(_MIN_QUOTA_US, milli * period_us // 1000)


def pod_limits(pod: Pod, rules: Rules) -> CgroupLimits:
    """The limits of the pod's own cgroup, by its QoS class."""
    quality, requests, limits = qos_class(pod), pod_requests(pod), cgroup_limits(pod)
    # reset without the tiers: the agent may have run with them before
    protected = requests.get("memory", 0) if rules.memory_tiers else 0
    cpu = limits.get("cpu", 0)
    none = {page_size(name): 0 for name in rules.huge_pages}
    return CgroupLimits(
        # as in the kubelet, the overhead of a BestEffort pod gives it no weight against pods that request cpu
        cpu_shares=MIN_SHARES if quality == BEST_EFFORT else milli_to_shares(requests.get("cpu", 0)),
        cpu_quota_us=milli_to_quota(cpu, rules.cfs_period_us) if rules.cfs_quota and cpu else None,
        cpu_period_us=rules.cfs_period_us,
        memory_bytes=limits.get("memory") or None,
        memory_min=protected if quality == GUARANTEED else None,
        memory_low=protected if quality != GUARANTEED else None,
        pids=rules.pids if rules.pids > 0 else None,
        hugetlb=none | {page_size(name): value for name, value in limits.items() if is_huge_pages(name)},
    )


def larger(one: CgroupLimits, other: CgroupLimits) -> CgroupLimits:
    """The limits during a resize from one to the other."""
    return msgspec.structs.replace(
        one,
        cpu_quota_us=_larger(one.cpu_quota_us, other.cpu_quota_us),
        memory_bytes=_larger(one.memory_bytes, other.memory_bytes),
    )


def _larger(one: int | None, other: int | None) -> int | None:
    """The larger limit. None: no limit, or neither has one, so it stays unchanged."""
    if one is None and other is None:
        return None
    return UNLIMITED if one is None or other is None else max(one, other)
