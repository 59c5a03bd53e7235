"""/metrics/cadvisor: the container_* and machine_* series by the names that dashboards know. Pure.

Rows are cgroups: the root, kubepods and its tiers, each pod, its sandbox (container "POD") and its containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from actors.http_servers.exposition.text_format import Kind, Row, simple
from actors.shared.stats.cgroup_usage import Usage
from actors.shared.stats.host import Interface, Machine
from actors.shared.stats.sample import Measured, Network, Sample

Labels = dict[str, str]
Value = Callable[[Usage], float | None]
SANDBOX = "POD"


class Place(msgspec.Struct, frozen=True):
    """One cgroup with whose it is. `started`: seconds since 1970."""

    labels: Labels
    measured: Measured
    started: float
    network: Network | None = None


def chunks(sample: Sample, machine: Machine) -> Iterator[str]:
    """The page, a family at a time, so that whoever writes it can do something else between two."""
    yield from _machine(sample, machine)
    found = places(sample)
    usages = [(place.labels, place.measured.usage) for place in found]
    for name, kind, about, value in _FAMILIES:
        rows = [(labels, number) for labels, usage in usages if (number := value(usage)) is not None]
        yield simple(name, kind, about, rows, sample.at)
    yield from _labelled(usages, sample.at)
    starts: list[Row] = [(place.labels, place.started) for place in found]
    yield simple("container_start_time_seconds", "gauge", "start of the container since 1970", starts, sample.at)
    seen: list[Row] = [(place.labels, int(place.measured.usage.at)) for place in found]
    yield simple("container_last_seen", "gauge", "when the container was last seen", seen, sample.at)
    yield from _networks(found, sample.at)
    yield from _file_systems(sample)


def places(sample: Sample) -> list[Place]:
    """All cgroups of the sample."""
    host, boot = sample.host, sample.host.boot
    found = [Place(_labels("/"), sample.root, boot, Network(host.interfaces, host.default_interface))]
    found += [Place(_labels(one.path), one, boot) for one in (*sample.tiers, *sample.system.values())]
    for pod in sample.pods:
        whose = {"namespace": pod.sandbox.pod_namespace, "pod": pod.sandbox.pod_name}
        started = pod.sandbox.created_ns / 1e9
        if pod.measured is not None:
            found.append(Place(_labels(pod.measured.path, **whose), pod.measured, started))
        if pod.sandbox_measured is not None:
            one = pod.sandbox_measured
            labels = _labels(one.path, name=pod.sandbox.id, container=SANDBOX, **whose)
            found.append(Place(labels, one, started, pod.network))
        for inner in pod.containers:
            container = inner.container
            image = container.image or container.image_ref
            labels = _labels(inner.measured.path, name=container.id, image=image, container=container.name, **whose)
            begun = (container.started_ns or container.created_ns) / 1e9
            found.append(Place(labels, inner.measured, begun))
    return found


def _labels(
    path: str, *, name: str = "", image: str = "", namespace: str = "", pod: str = "", container: str = ""
) -> Labels:
    return {"container": container, "id": path, "image": image, "name": name, "namespace": namespace, "pod": pod}


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _stalled(controller: str, full: bool) -> Value:
    def value(usage: Usage) -> float | None:
        psi = usage.psi.get(controller)
        return None if psi is None else (psi.full if full else psi.some).total_us / 1e6

    return value


_FAMILIES: tuple[tuple[str, Kind, str, Value], ...] = (
    ("container_cpu_user_seconds_total", "counter", "CPU time in user mode", lambda u: _seconds(u.user_ns)),
    ("container_cpu_system_seconds_total", "counter", "CPU time in the kernel", lambda u: _seconds(u.system_ns)),
    ("container_cpu_cfs_periods_total", "counter", "enforcement periods that have passed", lambda u: u.periods),
    (
        "container_cpu_cfs_throttled_periods_total",
        "counter",
        "enforcement periods with throttling",
        lambda u: u.throttled_periods,
    ),
    (
        "container_cpu_cfs_throttled_seconds_total",
        "counter",
        "time for which it was throttled",
        lambda u: _seconds(u.throttled_ns),
    ),
    ("container_memory_usage_bytes", "gauge", "memory in use, caches included", lambda u: u.memory_bytes),
    ("container_memory_working_set_bytes", "gauge", "working set", lambda u: u.working_set_bytes),
    ("container_memory_rss", "gauge", "anonymous memory", lambda u: u.rss_bytes),
    ("container_memory_cache", "gauge", "page cache", lambda u: u.cache_bytes),
    ("container_memory_mapped_file", "gauge", "mapped files", lambda u: u.mapped_bytes),
    ("container_memory_swap", "gauge", "swap in use", lambda u: u.swap_bytes),
    ("container_memory_max_usage_bytes", "gauge", "most memory that was in use", lambda u: u.max_bytes),
    ("container_memory_failcnt", "counter", "times that the memory limit was hit", lambda u: u.failures),
    ("container_memory_total_active_file_bytes", "gauge", "active page cache", lambda u: u.active_file_bytes),
    ("container_memory_total_inactive_file_bytes", "gauge", "inactive page cache", lambda u: u.inactive_file_bytes),
    ("container_oom_events_total", "counter", "processes killed for want of memory", lambda u: u.oom_kills),
    ("container_threads", "gauge", "tasks", lambda u: u.processes),
    ("container_threads_max", "gauge", "most tasks that it may have", lambda u: u.tasks_limit),
    ("container_spec_cpu_shares", "gauge", "its share of the CPU", lambda u: u.cpu_shares),
    ("container_spec_cpu_period", "gauge", "CPU period in microseconds", lambda u: u.cpu_period_us),
    ("container_spec_cpu_quota", "gauge", "CPU quota in microseconds", lambda u: u.cpu_quota_us),
    ("container_spec_memory_limit_bytes", "gauge", "memory limit, 0 without one", lambda u: u.memory_limit_bytes or 0),
    ("container_spec_memory_swap_limit_bytes", "gauge", "swap limit", lambda u: u.swap_limit_bytes),
    *(
        (
            f"container_pressure_{controller}_{word}_seconds_total",
            "counter",
            f"time for which {who} waited for {controller}",
            _stalled(controller, full),
        )
        for controller in ("cpu", "memory", "io")
        for word, who, full in (("stalled", "all tasks", True), ("waiting", "some task", False))
    ),
)


def _labelled(usages: Iterable[tuple[Labels, Usage]], at: float) -> Iterator[str]:
    cpu: list[Row] = []
    faults: list[Row] = []
    for labels, usage in usages:
        if usage.cpu_ns is not None:
            cpu.append(({**labels, "cpu": "total"}, usage.cpu_ns / 1e9))
        for kind, value in (("pgfault", usage.page_faults), ("pgmajfault", usage.major_page_faults)):
            if value is not None:
                faults.append(({**labels, "failure_type": kind, "scope": "hierarchy"}, value))
    yield simple("container_cpu_usage_seconds_total", "counter", "CPU time", cpu, at)
    yield simple("container_memory_failures_total", "counter", "page faults", faults, at)


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


def _networks(found: list[Place], at: float) -> Iterator[str]:
    pairs = [
        ({**place.labels, "interface": one.name}, one)
        for place in found
        if place.network is not None
        for one in place.network.interfaces
    ]
    for name, value in _NETWORK:
        rows = [(labels, value(one)) for labels, one in pairs]
        yield simple(f"container_network_{name}_total", "counter", f"network: {name.replace('_', ' ')}", rows, at)


def _file_systems(sample: Sample) -> Iterator[str]:
    """Of the node: containers' own are in the summary, as the runtime knows them."""
    disk = sample.node_fs
    if not disk:
        return
    device = disk.get("device", 0)
    labels = {**_labels("/"), "device": f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"}
    for name, key in (
        ("usage_bytes", "used_bytes"),
        ("limit_bytes", "capacity_bytes"),
        ("inodes_free", "inodes_free"),
        ("inodes_total", "inodes"),
    ):
        about = f"file system: {name.replace('_', ' ')}"
        yield simple(f"container_fs_{name}", "gauge", about, [(labels, disk[key])], sample.at)


def _machine(sample: Sample, machine: Machine) -> Iterator[str]:
    about = {"cadvisorRevision": "", "cadvisorVersion": "", "dockerVersion": ""}
    versions = {**about, "kernelVersion": machine.kernel, "osVersion": machine.os_image}
    yield simple("cadvisor_version_info", "gauge", "kernel and system, always 1", [(versions, 1)])
    labels = {"boot_id": machine.boot_id, "machine_id": machine.machine_id, "system_uuid": machine.system_uuid}
    for name, what, value in (
        ("cpu_cores", "logical CPUs", machine.cores),
        ("cpu_physical_cores", "physical cores", machine.physical_cores),
        ("cpu_sockets", "CPU sockets", machine.sockets),
        ("memory_bytes", "memory", sample.host.memory.get("MemTotal", 0)),
        ("swap_bytes", "swap", sample.host.memory.get("SwapTotal", 0)),
    ):
        yield simple(f"machine_{name}", "gauge", what, [(labels, value)])
