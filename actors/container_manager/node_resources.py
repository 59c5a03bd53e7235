"""The node's capacity, and its allocatable: capacity minus reservations minus hard eviction thresholds.

cpu in thousandths of a core, everything else in bytes or units.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import hard_thresholds
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import parse_resource_list
from actors.shared.kube.huge_pages import is_huge_pages
from actors.shared.kube.quantity import ceil
from actors.shared.linux import kernel_files
from actors.shared.linux.cpu_list import parse_cpu_list
from actors.shared.linux.huge_page_pools import SYSTEM_POOLS, pool_bytes
from actors.shared.linux.memory import total_memory

STORAGE: Final = "ephemeral-storage"
PIDS: Final = "pid"
"""The name of the reservation of process IDs."""
_HARD_SIGNALS: Final = {"memory.available": "memory", "nodefs.available": STORAGE}


class NodeResourceTotals(msgspec.Struct, frozen=True):
    capacity: dict[str, int]
    allocatable: dict[str, int]
    pids: int | None = None
    """Process IDs, which pods cannot request; None: not known."""
    cpus: frozenset[int] | None = None
    """The online CPUs; None: the kernel does not list them."""


def measure(agent: Agent, root: str = "") -> NodeResourceTotals:
    """The totals of the machine with the root directory `root`. Raises OSError."""
    total = capacity(agent.config, agent.root_dir, root)
    given = allocatable(total, agent.config, with_thresholds=counts_thresholds(agent))
    return NodeResourceTotals(total, given, most_pids(root), kernel_files.listed_cpus(root))


def counts_thresholds(agent: Agent) -> bool:
    """Whether the hard eviction thresholds are subtracted from allocatable."""
    return not agent.flags.get("experimental-allocatable-ignore-eviction")


def pods_memory(total: dict[str, int], config: KubeletConfiguration) -> int:
    """Bytes of memory that all pods may have: capacity minus reservations, without eviction thresholds."""
    return max(0, total["memory"] - reserved(config).get("memory", 0))


def capacity(config: KubeletConfiguration, root_dir: str, root: str = "") -> dict[str, int]:
    """The capacity of this machine. `root`: where its /proc and /sys are. Without localStorageCapacityIsolation the
    node has no ephemeral storage to give. Raises OSError."""
    cores = len(online_cpus(root))
    return {
        "cpu": cores * 1000,
        "memory": total_memory(f"{root}/proc"),
        **(_storage(root_dir) if config.localStorageCapacityIsolation else {}),
        "pods": most_pods(config, cores),
        **pool_bytes(root + SYSTEM_POOLS),
    }


def online_cpus(root: str = "") -> frozenset[int]:
    """The number of online CPUs, also of those that the agent's own process may not use. If the kernel does not list
    them: those that it may use."""
    return kernel_files.listed_cpus(root) or frozenset(os.sched_getaffinity(0))


def most_pids(root: str = "") -> int | None:
    """The number of process IDs: the lower of the kernel's two limits. None if they cannot be read."""
    try:
        kernel = Path(f"{root}/proc/sys/kernel")
        return min(int((kernel / name).read_text("ascii")) for name in ("pid_max", "threads-max"))
    except (OSError, ValueError):
        return None


def _storage(root_dir: str) -> dict[str, int]:
    """Raises OSError."""
    disk = os.statvfs(root_dir)
    return {STORAGE: disk.f_blocks * disk.f_frsize}


def most_pods(config: KubeletConfiguration, cores: int) -> int:
    """maxPods, or podsPerCore times the cores if that is less."""
    per_core = config.podsPerCore * cores
    return min(config.maxPods, per_core) if per_core > 0 else config.maxPods


def reserved(config: KubeletConfiguration) -> dict[str, int]:
    """kubeReserved and systemReserved together, in the units of `capacity`. reservedSystemCPUs, whole CPUs by number,
    replaces their cpu."""
    found: dict[str, int] = {}
    for amounts in (config.kubeReserved, config.systemReserved):
        for name, value in parse_resource_list(amounts).items():
            found[name] = found.get(name, 0) + ceil(value * 1000 if name == "cpu" else value)
    if config.reservedSystemCPUs:
        found["cpu"] = 1000 * len(parse_cpu_list(config.reservedSystemCPUs))
    return found


def unallocatable_memory(config: KubeletConfiguration, total: int) -> int:
    """Bytes that pods may not request: both reservations and the hard threshold of memory. `total`: the machine's."""
    thresholds = [one.amount.of(total) for one in hard_thresholds(config) if one.signal == "memory.available"]
    return reserved(config).get("memory", 0) + sum(thresholds)


def enforced(total: dict[str, int], config: KubeletConfiguration) -> dict[str, int]:
    """The limits of the cgroup of all pods: without the eviction thresholds, so that eviction comes before the OOM
    killer. The whole capacity when `pods` is not enforced."""
    if "pods" not in config.enforceNodeAllocatable:
        return dict(total)
    less = reserved(config)
    return {name: max(0, value - less.get(name, 0)) for name, value in total.items()}


def allocatable(total: dict[str, int], config: KubeletConfiguration, *, with_thresholds: bool = True) -> dict[str, int]:
    """Allocatable. Huge pages are subtracted from memory, because they cannot be used for anything else."""
    less = withheld(total, config, with_thresholds=with_thresholds)
    less["memory"] = less.get("memory", 0) + sum(total[name] for name in total if is_huge_pages(name))
    return {name: max(0, value - less.get(name, 0)) for name, value in total.items()}


def withheld(total: dict[str, int], config: KubeletConfiguration, *, with_thresholds: bool) -> dict[str, int]:
    """What pods cannot request: reservations plus hard eviction thresholds. `total`: the capacity."""
    less = reserved(config)
    for threshold in hard_thresholds(config) if with_thresholds else ():
        name = _HARD_SIGNALS.get(threshold.signal, "")
        if name in total:
            less[name] = less.get(name, 0) + threshold.amount.of(total[name])
    return less
