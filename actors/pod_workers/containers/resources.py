"""CPU and memory of a container for the runtime (the kubelet's formulas; KEP-753 for sidecars). Pure."""

from __future__ import annotations

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.container import Container
from actors.shared.kube.huge_pages import is_huge_pages, page_size
from actors.shared.kube.names import NODE_CRITICAL_CLASS
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, container_limits, container_requests, container_sum, has_sidecar, qos_class

MIN_SHARES, MAX_SHARES = 2, 262_144
MIN_QUOTA_US = 1000
NO_QUOTA = -1
GUARANTEED_SCORE, BEST_EFFORT_SCORE = -997, 1000


class LinuxContainerResources(msgspec.Struct, frozen=True, kw_only=True):
    """LinuxContainerResources as plain numbers; 0 is not set."""

    cpu_shares: int
    cpu_quota: int
    cpu_period: int
    memory_bytes: int
    oom_score_adj: int
    huge_pages: dict[str, int] = {}
    """Bytes by page size (2MB), for every page size of the node."""


def shares(milli_cpu: int) -> int:
    """cgroup v1 cpu.shares; the runtime converts them for v2."""
    return min(MAX_SHARES, max(MIN_SHARES, milli_cpu * 1024 // 1000))


def quota(milli_cpu: int, period_us: int) -> int:
    """Microseconds per period; 0 for no limit."""
    return max(MIN_QUOTA_US, milli_cpu * period_us // 1000) if milli_cpu and period_us else 0


def period_of(config: KubeletConfiguration) -> int:
    """Microseconds; 0: limits of CPU are not enforced."""
    return round(float(config.cpuCFSQuotaPeriod) * 1e6) if config.cpuCFSQuota else 0


class ResourcesHost(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the node for the limits of containers."""

    memory: int
    """Bytes."""
    page_sizes: tuple[str, ...] = ()
    """Sizes of huge pages as the kernel names them: 2MB."""
    swap: int = 0
    """Bytes of swap, on all devices and files."""
    cgroup_v2: bool = False
    accounts_swap: bool = False
    """The memory controller limits swap too."""
    selinux: bool = False
    """SELinux is enabled: files need labels."""


def limits(pod: Pod, container: Container, machine: ResourcesHost, *, period_us: int) -> LinuxContainerResources:
    """The limits of one container on this node. `period_us` as `period_of` answers it."""
    wanted, most = container_requests(container), enforced_limits(pod, container)
    return LinuxContainerResources(
        cpu_shares=shares(wanted.get("cpu", most.get("cpu", 0))),
        cpu_quota=quota(most.get("cpu", 0), period_us),
        cpu_period=period_us,
        memory_bytes=most.get("memory", 0),
        oom_score_adj=oom_score(pod, container, machine.memory),
        huge_pages=dict.fromkeys(machine.page_sizes, 0) | _huge_pages(most),
    )


def enforced_limits(pod: Pod, container: Container) -> dict[str, int]:
    """The limits of a container by resource. The pod's limit applies to a resource without a limit of its own, and to
    cpu and memory with the limit 0 (KEP-2837)."""
    given = pod.spec.resources.limits if pod.spec.resources is not None else {}
    pod_level = {name: amount(name, quantity) for name, quantity in given.items()}
    own = {name: value for name, value in container_limits(container).items() if value or is_huge_pages(name)}
    return pod_level | own


def _huge_pages(most: dict[str, int]) -> dict[str, int]:
    """Limits of huge pages by the kernel's name of the size: hugepages-2Mi is 2MB."""
    return {page_size(name): value for name, value in most.items() if is_huge_pages(name)}


def oom_score(pod: Pod, container: Container, node_memory: int) -> int:
    """oom_score_adj: the more memory a container requests, the later the kernel kills it."""
    quality = qos_class(pod)
    if pod.spec.priorityClassName == NODE_CRITICAL_CLASS or quality == "Guaranteed":
        return GUARANTEED_SCORE
    if quality == "BestEffort":
        return BEST_EFFORT_SCORE
    share = _share_of_rest(pod)
    own = _burstable(container, share, node_memory)
    if has_sidecar(pod, container.name):
        # as in the kubelet, no higher than that of the regular container that requests the least memory
        return min(own, max(_burstable(one, share, node_memory) for one in pod.spec.containers))
    return own


def _share_of_rest(pod: Pod) -> int:
    """The pod's requested bytes beyond those of its containers, divided by the number of containers (KEP-2837)."""
    requests = pod.spec.resources.requests if pod.spec.resources is not None else {}
    if "memory" not in requests:
        return 0
    rest = amount("memory", requests["memory"]) - container_sum(pod).get("memory", 0)
    return rest // (len(pod.spec.initContainers) + len(pod.spec.containers))


def _burstable(container: Container, share: int, node_memory: int) -> int:
    requested = container_requests(container).get("memory", 0) + share
    score = 1000 - 1000 * requested // max(1, node_memory)
    return min(999, max(3, score))
