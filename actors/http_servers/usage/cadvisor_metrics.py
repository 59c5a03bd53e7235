"""/metrics/cadvisor: the container_* and machine_* series, with cAdvisor's names. Pure.

Rows are cgroups: the root, kubepods and its tiers, each pod, its sandbox and its containers. The row of a sandbox has
what the runtime labels it with: containerd no name of a container, CRI-O the name POD; and its image. What the kubelet
reads once, limits and the time of the start, has no time of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from actors.http_servers.exposition.text_format import Row
from actors.shared.stats.cgroup_usage import CgroupUsage
from actors.shared.stats.host import Interface, MachineInfo
from actors.shared.stats.processes import ProcessStats
from actors.shared.stats.sample import UsageSample

from . import disk_metrics as disks
from .cgroup_rows import CgroupRow, Labels, cgroup_rows, metric

Value = Callable[[CgroupUsage], float | None]
_SPEC: Final = "container_spec_"


def chunks(
    sample: UsageSample, machine: MachineInfo, processes: Mapping[str, ProcessStats], images: Mapping[str, str]
) -> Iterator[str]:
    """The page, one metric after the other, so that the server can do other work in between. `processes`: by cgroup;
    `images`: of sandboxes, by ID."""
    yield from _machine(sample, machine)
    found = cgroup_rows(sample, images)
    usages = [(row.labels, row.measured.usage) for row in found]
    for name, value in _FIGURES:
        rows = [(labels, number) for labels, usage in usages if (number := value(usage)) is not None]
        yield metric(name, rows, None if name.startswith(_SPEC) else sample.at)
    yield from _by_kind(usages, sample.at)
    yield metric("container_start_time_seconds", [(row.labels, row.started) for row in found])
    seen: list[Row] = [(row.labels, int(row.measured.usage.at)) for row in found]
    yield metric("container_last_seen", seen, sample.at)
    yield from _processes([(row.labels, processes.get(row.measured.path)) for row in found], sample.at)
    yield from _networks(found, sample.at)
    yield from disks.chunks(sample, machine.disks, found)


def errors(*, failed: bool) -> str:
    """The last series of the page: the scrape errors. `failed`: there are no figures."""
    return metric("container_scrape_error", [({}, int(failed))]) + metric("machine_scrape_error", [({}, 0)])


def _with_quota(value: Value) -> Value:
    """What the kernel counts for cgroups with a CPU limit."""
    return lambda usage: None if usage.cpu_quota_us is None else value(usage)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _stall_seconds(controller: str, full: bool) -> Value:
    def value(usage: CgroupUsage) -> float | None:
        psi = usage.psi.get(controller)
        return None if psi is None else (psi.full if full else psi.some).total_us / 1e6

    return value


_FIGURES: Final[tuple[tuple[str, Value], ...]] = (
    ("container_cpu_user_seconds_total", lambda u: _seconds(u.user_ns)),
    ("container_cpu_system_seconds_total", lambda u: _seconds(u.system_ns)),
    ("container_cpu_cfs_periods_total", _with_quota(lambda u: u.periods)),
    ("container_cpu_cfs_throttled_periods_total", _with_quota(lambda u: u.throttled_periods)),
    ("container_cpu_cfs_throttled_seconds_total", _with_quota(lambda u: _seconds(u.throttled_ns))),
    ("container_cpu_cfs_burst_periods_total", _with_quota(lambda u: u.burst_periods)),
    ("container_cpu_cfs_burst_seconds_total", _with_quota(lambda u: _seconds(u.burst_ns))),
    ("container_memory_usage_bytes", lambda u: u.memory_bytes),
    ("container_memory_working_set_bytes", lambda u: u.working_set_bytes),
    ("container_memory_rss", lambda u: u.rss_bytes),
    ("container_memory_cache", lambda u: u.cache_bytes),
    ("container_memory_mapped_file", lambda u: u.mapped_bytes),
    ("container_memory_swap", lambda u: u.swap_bytes),
    ("container_memory_kernel_usage", lambda u: u.kernel_bytes),
    ("container_memory_max_usage_bytes", lambda u: u.max_bytes),
    ("container_memory_failcnt", lambda u: u.failures),
    ("container_memory_total_active_file_bytes", lambda u: u.active_file_bytes),
    ("container_memory_total_inactive_file_bytes", lambda u: u.inactive_file_bytes),
    ("container_oom_events_total", lambda u: u.oom_kills),
    ("container_threads", lambda u: u.processes),
    ("container_threads_max", lambda u: None if u.processes is None else u.tasks_limit or 0),
    ("container_spec_cpu_shares", lambda u: u.cpu_shares),
    ("container_spec_cpu_period", lambda u: u.cpu_period_us),
    ("container_spec_cpu_quota", lambda u: u.cpu_quota_us),
    ("container_spec_memory_limit_bytes", lambda u: u.memory_limit_bytes or 0),
    ("container_spec_memory_reservation_limit_bytes", lambda u: u.reserved_bytes or 0),
    ("container_spec_memory_swap_limit_bytes", lambda u: u.swap_limit_bytes or 0),
    *(
        (f"container_pressure_{controller}_{word}_seconds_total", _stall_seconds(controller, full))
        for controller in ("cpu", "memory", "io")
        for word, full in (("stalled", True), ("waiting", False))
    ),
)


def _by_kind(usages: Iterable[tuple[Labels, CgroupUsage]], at: float) -> Iterator[str]:
    """Metrics with an additional label."""
    cpu: list[Row] = []
    faults: list[Row] = []
    for labels, usage in usages:
        if usage.cpu_ns is not None:
            cpu.append(({**labels, "cpu": "total"}, usage.cpu_ns / 1e9))
        faults += [
            ({**labels, "failure_type": kind, "scope": scope}, value)
            for kind, scope, value in (
                ("pgfault", "container", usage.own_page_faults),
                ("pgfault", "hierarchy", usage.page_faults),
                ("pgmajfault", "container", usage.own_major_page_faults),
                ("pgmajfault", "hierarchy", usage.major_page_faults),
            )
            if value is not None
        ]
    yield metric("container_cpu_usage_seconds_total", cpu, at)
    yield metric("container_memory_failures_total", faults, at)


def _processes(found: Sequence[tuple[Labels, ProcessStats | None]], at: float) -> Iterator[str]:
    known = [(labels, one) for labels, one in found if one is not None]
    yield metric("container_processes", [(labels, one.count) for labels, one in known], at)
    yield metric("container_file_descriptors", [(labels, one.descriptors) for labels, one in known], at)
    yield metric("container_sockets", [(labels, one.sockets) for labels, one in known], at)
    limits: list[Row] = [
        ({**labels, "ulimit": "max_open_files"}, one.open_files_limit if one.open_files_limit is not None else -1)
        for labels, one in known
        if one.count
    ]
    yield metric("container_ulimits_soft", limits, at)


_NETWORK: tuple[tuple[str, Callable[[Interface], int]], ...] = (
    ("receive_bytes", lambda one: one.rx_bytes),
    ("receive_packets", lambda one: one.rx_packets),
    ("receive_errors", lambda one: one.rx_errors),
    ("receive_packets_dropped", lambda one: one.rx_drops),
    ("transmit_bytes", lambda one: one.tx_bytes),
    ("transmit_packets", lambda one: one.tx_packets),
    ("transmit_errors", lambda one: one.tx_errors),
    ("transmit_packets_dropped", lambda one: one.tx_drops),
)


def _networks(found: list[CgroupRow], at: float) -> Iterator[str]:
    pairs = [
        ({**row.labels, "interface": one.name}, one)
        for row in found
        if row.network is not None
        for one in row.network.interfaces
    ]
    for name, value in _NETWORK:
        rows = [(labels, value(one)) for labels, one in pairs]
        yield metric(f"container_network_{name}_total", rows, at)


def _machine(sample: UsageSample, machine: MachineInfo) -> Iterator[str]:
    about = {"cadvisorRevision": "", "cadvisorVersion": "", "dockerVersion": ""}
    versions = {**about, "kernelVersion": machine.kernel, "osVersion": machine.os_image}
    yield metric("cadvisor_version_info", [(versions, 1)])
    labels = {"boot_id": machine.boot_id, "machine_id": machine.machine_id, "system_uuid": machine.system_uuid}
    for name, value in (
        ("cpu_cores", machine.cores),
        ("cpu_physical_cores", machine.physical_cores),
        ("cpu_sockets", machine.sockets),
        ("memory_bytes", sample.host.memory.get("MemTotal", 0)),
        ("swap_bytes", sample.host.memory.get("SwapTotal", 0)),
    ):
        yield metric(f"machine_{name}", [(labels, value)])
