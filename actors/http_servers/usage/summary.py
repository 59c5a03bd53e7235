"""A sample of usage figures as the Summary of the kubelet's stats/v1alpha1 API. Pure.

As in the kubelet, unknown figures are left out, and none is negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from actors.shared.kube.times import rfc3339
from actors.shared.stats.host import HostStats
from actors.shared.stats.sample import ContainerSample, Disk, Network, PodSample, UsageSample

from .stats_fields import (
    Json,
    cpu_stats,
    file_system,
    fs_stats,
    io_stats,
    memory_stats,
    network_stats,
    psi_stats,
    swap_stats,
    without_nulls,
)

NONE: Final[Mapping[str, int]] = MappingProxyType({})


def summary(
    sample: UsageSample,
    node_name: str,
    processes: Mapping[str, int] = NONE,
    *,
    agent_started: float = 0.0,
    only_cpu_and_memory: bool = False,
) -> Json:
    """The whole document. `processes`: the number of processes by pod UID; `agent_started`: seconds since 1970, 0: not
    known."""
    node = _node(sample, node_name, agent_started, only_cpu_and_memory)
    pods = [_pod(sample, pod, processes, only_cpu_and_memory) for pod in sample.pods]
    return {"node": node, "pods": pods}


# -- the node -----------------------------------------------------------------------------------------------------
def _node(sample: UsageSample, node_name: str, agent_started: float, small: bool) -> Json:
    host = sample.host
    found = {
        "nodeName": node_name,
        "systemContainers": _system(sample, agent_started, small) or None,
        "startTime": rfc3339(host.boot),
        "cpu": cpu_stats(sample.root, host.psi),
        "memory": _node_memory(sample),
        "swap": _node_swap(host, sample.at),
    }
    if small:
        return without_nulls(found)
    return without_nulls(
        found
        | {
            "io": io_stats(sample.at, host.psi),
            "network": network_stats(sample.at, Network(host.interfaces, host.default_interface)),
            "fs": fs_stats(sample.disks_at, sample.node_fs),
            "runtime": without_nulls(
                {
                    "imageFs": fs_stats(sample.disks_at, sample.image_fs),
                    "containerFs": fs_stats(sample.disks_at, sample.container_fs),
                }
            ),
            "rlimit": without_nulls({"time": rfc3339(sample.at), "maxpid": host.max_pid, "curproc": host.processes}),
        }
    )


def _system(sample: UsageSample, agent_started: float, small: bool) -> list[Json]:
    started = {"kubelet": agent_started}
    measured = dict(sample.system)
    if sample.tiers:
        measured["pods"] = sample.tiers[0]
    return [
        without_nulls(
            {
                "name": name,
                "startTime": rfc3339(started.get(name) or one.created or sample.host.boot),
                "cpu": cpu_stats(one),
                "memory": memory_stats(one.usage),
                "io": None if small else io_stats(one.usage.at, one.usage.psi),
                "swap": swap_stats(one.usage),
            }
        )
        for name, one in measured.items()
    ]


def _node_memory(sample: UsageSample) -> Json | None:
    """From /proc/meminfo where the root cgroup has no memory files (v2): the values are the same."""
    usage, memory = sample.root.usage, sample.host.memory
    total = memory.get("MemTotal")
    if total is None:
        return memory_stats(usage)
    used, working = usage.memory_bytes, usage.working_set_bytes
    if used is None:
        used = max(0, total - memory.get("MemFree", 0))
        working = max(0, used - memory.get("Inactive(file)", 0))
    return without_nulls(
        {
            "time": rfc3339(usage.at),
            "availableBytes": max(0, total - (working or 0)),
            "usageBytes": used,
            "workingSetBytes": working,
            "rssBytes": usage.rss_bytes if usage.rss_bytes is not None else memory.get("AnonPages"),
            "pageFaults": usage.page_faults,
            "majorPageFaults": usage.major_page_faults,
            "psi": psi_stats(sample.host.psi.get("memory")),
        }
    )


def node_working_set(sample: UsageSample) -> int | None:
    """Bytes, as in the summary."""
    return (_node_memory(sample) or {}).get("workingSetBytes")


def node_swap_used(host: HostStats) -> int | None:
    """Bytes; None: unknown to the kernel."""
    total, free = host.memory.get("SwapTotal"), host.memory.get("SwapFree")
    return None if total is None or free is None else max(0, total - free)


def _node_swap(host: HostStats, at: float) -> Json:
    return without_nulls(
        {
            "time": rfc3339(at),
            "swapAvailableBytes": host.memory.get("SwapFree"),
            "swapUsageBytes": node_swap_used(host),
        }
    )


# -- pods and containers ------------------------------------------------------------------------------------------
def _pod(sample: UsageSample, pod: PodSample, processes: Mapping[str, int], small: bool) -> Json:
    sandbox, used = pod.sandbox, pod.usage
    namespace = sandbox.pod_namespace
    found = {
        "podRef": {"name": sandbox.pod_name, "namespace": namespace, "uid": sandbox.pod_uid},
        "startTime": rfc3339(sandbox.created_ns / 1e9),
        "containers": [_container(sample, pod, one, small) for one in pod.containers],
        "cpu": cpu_stats(used) if used else None,
        "memory": memory_stats(used.usage) if used else None,
        "swap": swap_stats(used.usage) if used else None,
    }
    if small:
        return without_nulls(found)
    disk = sample.disks.get(sandbox.pod_uid, {})
    usage = pod.measured.usage if pod.measured else None
    return without_nulls(
        found
        | {
            "io": io_stats(usage.at, usage.psi) if usage else None,
            "network": network_stats(sample.at, pod.network) if pod.network else None,
            "volume": [
                _volume(_at(sample, disk), namespace, name, one) for name, one in disk.get("volumes", {}).items()
            ]
            or None,
            "ephemeral-storage": _ephemeral(sample, pod, disk),
            "process_stats": without_nulls({"process_count": processes.get(sandbox.pod_uid)}),
        }
    )


def _container(sample: UsageSample, pod: PodSample, one: ContainerSample, small: bool) -> Json:
    usage = one.measured.usage
    found = {
        "name": one.container.name,
        "startTime": rfc3339((one.container.started_ns or one.container.created_ns) / 1e9),
        "cpu": cpu_stats(one.measured),
        "memory": memory_stats(usage),
        "swap": swap_stats(usage),
    }
    if small:
        return without_nulls(found)
    disk = sample.disks.get(pod.sandbox.pod_uid, {})
    logs = disk.get("logs", {}).get(one.container.name)
    return without_nulls(
        found
        | {
            "io": io_stats(usage.at, usage.psi),
            "rootfs": _rootfs(sample, one),
            "logs": fs_stats(_at(sample, disk), {**file_system(sample.node_fs), **logs}) if logs else None,
        }
    )


def _at(sample: UsageSample, disk: Disk) -> float:
    """When the disk usage of a pod was measured."""
    return float(disk.get("at", sample.disks_at))


def _rootfs(sample: UsageSample, one: ContainerSample) -> Json | None:
    if one.layer is None:
        return None
    used: Disk = {"used_bytes": one.layer.used_bytes, "inodes_used": one.layer.inodes_used}
    return fs_stats(one.layer.at_ns / 1e9, {**file_system(sample.container_fs), **used})


def _volume(at: float, namespace: str, name: str, volume: Disk) -> Json:
    claim = volume.get("claim")
    found: Json = {"name": name, **(fs_stats(at, volume) or {})}
    if claim:
        found["pvcRef"] = {"name": claim, "namespace": namespace}
    if "abnormal" in volume:
        found["volumeHealthStats"] = {"abnormal": volume["abnormal"]}
    return found


def _ephemeral(sample: UsageSample, pod: PodSample, disk: Disk) -> Json | None:
    """The pod's usage of the node's disk: layers, logs, local volumes, files of the agent."""
    if not disk:
        return None
    local = [one for one in disk["volumes"].values() if one.get("device") == sample.node_fs.get("device")]
    layers = [
        {"used_bytes": one.layer.used_bytes or 0, "inodes_used": one.layer.inodes_used or 0}
        for one in pod.containers
        if one.layer is not None
    ]
    parts: list[Disk] = [*local, *layers, *disk["logs"].values(), disk["own"]]
    used = {key: sum(part[key] for part in parts) for key in ("used_bytes", "inodes_used")}
    return fs_stats(_at(sample, disk), {**file_system(sample.node_fs), **used})
