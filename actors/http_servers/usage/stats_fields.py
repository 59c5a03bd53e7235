"""The groups of fields of the kubelet's stats/v1alpha1 API that nodes, pods and containers share. Pure.

As in the kubelet, unknown figures are left out, and none is negative.
"""

from __future__ import annotations

from typing import Any

from actors.shared.kube.times import rfc3339
from actors.shared.linux.psi import Psi
from actors.shared.stats.cgroup_usage import CgroupUsage
from actors.shared.stats.host import Interface
from actors.shared.stats.sample import CgroupSample, Disk, Network

Json = dict[str, Any]


def cpu_stats(measured: CgroupSample, psi: dict[str, Psi] | None = None) -> Json | None:
    """CPUStats; None: unknown. `psi`: replaces the cgroup's."""
    usage = measured.usage
    if usage.cpu_ns is None:
        return None
    return without_nulls(
        {
            "time": rfc3339(usage.at),
            "usageNanoCores": measured.nano_cores,
            "usageCoreNanoSeconds": usage.cpu_ns,
            "psi": psi_stats((psi or usage.psi).get("cpu")),
        }
    )


def memory_stats(usage: CgroupUsage) -> Json | None:
    """MemoryStats; None: unknown."""
    if usage.memory_bytes is None and usage.working_set_bytes is None:
        return None
    limit = usage.memory_limit_bytes
    return without_nulls(
        {
            "time": rfc3339(usage.at),
            "availableBytes": None if limit is None else max(0, limit - (usage.working_set_bytes or 0)),
            "usageBytes": usage.memory_bytes,
            "workingSetBytes": usage.working_set_bytes,
            "rssBytes": usage.rss_bytes,
            "pageFaults": usage.page_faults,
            "majorPageFaults": usage.major_page_faults,
            "psi": psi_stats(usage.psi.get("memory")),
        }
    )


def swap_stats(usage: CgroupUsage) -> Json | None:
    """SwapStats; None: unknown."""
    if usage.swap_bytes is None:
        return None
    limit = usage.swap_limit_bytes
    available = None if limit is None else max(0, limit - usage.swap_bytes)
    return without_nulls(
        {"time": rfc3339(usage.at), "swapAvailableBytes": available, "swapUsageBytes": usage.swap_bytes}
    )


def io_stats(at: float, psi: dict[str, Psi]) -> Json | None:
    """IOStats; None: the kernel has no PSI."""
    found = psi_stats(psi.get("io"))
    return None if found is None else {"time": rfc3339(at), "psi": found}


def psi_stats(psi: Psi | None) -> Json | None:
    """PSIStats."""
    if psi is None:
        return None
    return {
        kind: {"total": line.total_us, "avg10": line.avg10, "avg60": line.avg60, "avg300": line.avg300}
        for kind, line in (("full", psi.full), ("some", psi.some))
    }


def fs_stats(at: float, disk: Disk) -> Json | None:
    """FsStats; None: unknown."""
    if not disk:
        return None
    return without_nulls(
        {
            "time": rfc3339(at),
            "availableBytes": disk.get("available_bytes"),
            "capacityBytes": disk.get("capacity_bytes"),
            "usedBytes": disk.get("used_bytes"),
            "inodesFree": disk.get("inodes_free"),
            "inodes": disk.get("inodes"),
            "inodesUsed": disk.get("inodes_used"),
        }
    )


def file_system(disk: Disk) -> Disk:
    """The file system without its usage, which differs for each consumer."""
    return {key: value for key, value in disk.items() if key not in {"used_bytes", "inodes_used"}}


def network_stats(at: float, network: Network) -> Json:
    """NetworkStats; the figures of the default interface are repeated at the top level."""
    found: Json = {"time": rfc3339(at)}
    for one in network.interfaces:
        if one.name == network.default:
            found |= _interface(one)
    return found | {"interfaces": [_interface(one) for one in network.interfaces]}


def _interface(one: Interface) -> Json:
    return {
        "name": one.name,
        "rxBytes": one.rx_bytes,
        "rxErrors": one.rx_errors,
        "txBytes": one.tx_bytes,
        "txErrors": one.tx_errors,
    }


def without_nulls(found: Json) -> Json:
    """The fields that are known."""
    return {key: value for key, value in found.items() if value is not None}
