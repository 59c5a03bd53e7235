"""Metrics of the pages /metrics/resource and /metrics/cadvisor. Some names are on both, with different labels."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metric, counter, gauge

_POD: Final = ("namespace", "pod")
_CONTAINER: Final = ("container", *_POD)

RESOURCE: Final[tuple[Metric, ...]] = (
    counter("node_cpu_usage_seconds_total", "CPU time of the node, in seconds"),
    gauge("node_memory_working_set_bytes", "working set of the node"),
    gauge("node_swap_usage_bytes", "swap usage of the node"),
    counter("container_cpu_usage_seconds_total", "CPU time of the container, in seconds", *_CONTAINER),
    gauge("container_memory_working_set_bytes", "working set of the container", *_CONTAINER),
    gauge("container_swap_usage_bytes", "swap usage of the container", *_CONTAINER),
    gauge("container_swap_limit_bytes", "swap limit of the container", *_CONTAINER),
    gauge("container_start_time_seconds", "start of the container, seconds since 1970", *_CONTAINER),
    counter("pod_cpu_usage_seconds_total", "CPU time of the pod, in seconds", *_POD),
    gauge("pod_memory_working_set_bytes", "working set of the pod", *_POD),
    gauge("pod_swap_usage_bytes", "swap usage of the pod", *_POD),
    gauge("resource_scrape_error", "1 if there was an error while getting the figures, else 0"),
)

_CGROUP: Final = ("container", "id", "image", "name", "namespace", "pod")
_DEVICE: Final = (*_CGROUP, "device")
_INTERFACE: Final = (*_CGROUP, "interface")
_MACHINE: Final = ("boot_id", "machine_id", "system_uuid")

_CPU: Final = (
    counter("container_cpu_usage_seconds_total", "CPU time in seconds", *_CGROUP, "cpu"),
    counter("container_cpu_user_seconds_total", "CPU time in user mode", *_CGROUP),
    counter("container_cpu_system_seconds_total", "CPU time in the kernel", *_CGROUP),
    counter("container_cpu_cfs_periods_total", "elapsed enforcement periods", *_CGROUP),
    counter("container_cpu_cfs_throttled_periods_total", "enforcement periods with throttling", *_CGROUP),
    counter("container_cpu_cfs_throttled_seconds_total", "time of throttling", *_CGROUP),
    counter("container_cpu_cfs_burst_periods_total", "enforcement periods with bursts", *_CGROUP),
    counter("container_cpu_cfs_burst_seconds_total", "time of bursts", *_CGROUP),
    gauge("container_spec_cpu_shares", "share of the CPU", *_CGROUP),
    gauge("container_spec_cpu_period", "CPU period in microseconds", *_CGROUP),
    gauge("container_spec_cpu_quota", "CPU quota in microseconds", *_CGROUP),
)

_MEMORY: Final = (
    gauge("container_memory_usage_bytes", "memory in use, caches included", *_CGROUP),
    gauge("container_memory_working_set_bytes", "working set of memory", *_CGROUP),
    gauge("container_memory_rss", "anonymous memory in bytes", *_CGROUP),
    gauge("container_memory_cache", "page cache in bytes", *_CGROUP),
    gauge("container_memory_mapped_file", "mapped files in bytes", *_CGROUP),
    gauge("container_memory_swap", "swap in use in bytes", *_CGROUP),
    gauge("container_memory_kernel_usage", "memory of the kernel in bytes", *_CGROUP),
    gauge("container_memory_max_usage_bytes", "maximum memory usage in bytes", *_CGROUP),
    counter("container_memory_failcnt", "times that the memory limit was reached", *_CGROUP),
    counter("container_memory_failures_total", "page faults by type", *_CGROUP, "failure_type", "scope"),
    gauge("container_memory_total_active_file_bytes", "active page cache", *_CGROUP),
    gauge("container_memory_total_inactive_file_bytes", "inactive page cache", *_CGROUP),
    counter("container_oom_events_total", "processes killed by the OOM killer", *_CGROUP),
    gauge("container_spec_memory_limit_bytes", "memory limit, 0 without one", *_CGROUP),
    gauge("container_spec_memory_reservation_limit_bytes", "memory reservation (soft limit)", *_CGROUP),
    gauge("container_spec_memory_swap_limit_bytes", "swap limit in bytes, 0 without one", *_CGROUP),
)

_PROCESSES: Final = (
    gauge("container_processes", "processes of the container", *_CGROUP),
    gauge("container_threads", "tasks of the cgroup", *_CGROUP),
    gauge("container_threads_max", "maximum tasks of the cgroup, 0 without one", *_CGROUP),
    gauge("container_file_descriptors", "open file descriptors", *_CGROUP),
    gauge("container_sockets", "open sockets of the container", *_CGROUP),
    gauge("container_ulimits_soft", "soft limits of the container's first process", *_CGROUP, "ulimit"),
    gauge("container_start_time_seconds", "start of the container, seconds since 1970", *_CGROUP),
    gauge("container_last_seen", "when the container was last seen, seconds since 1970", *_CGROUP),
)

_DISK: Final = (
    gauge("container_fs_usage_bytes", "bytes in use on the file system", *_DEVICE),
    gauge("container_fs_limit_bytes", "size of the file system in bytes", *_DEVICE),
    gauge("container_fs_inodes_free", "free inodes of the file system", *_DEVICE),
    gauge("container_fs_inodes_total", "inodes of the file system", *_DEVICE),
    counter("container_fs_reads_bytes_total", "bytes read from the disk", *_DEVICE),
    counter("container_fs_writes_bytes_total", "bytes written to the disk", *_DEVICE),
    counter("container_fs_reads_total", "reads from the disk", *_DEVICE),
    counter("container_fs_writes_total", "writes to the disk", *_DEVICE),
    counter("container_fs_reads_merged_total", "merged reads", *_DEVICE),
    counter("container_fs_writes_merged_total", "merged writes", *_DEVICE),
    counter("container_fs_sector_reads_total", "sectors read", *_DEVICE),
    counter("container_fs_sector_writes_total", "sectors written", *_DEVICE),
    counter("container_fs_read_seconds_total", "time that reads took", *_DEVICE),
    counter("container_fs_write_seconds_total", "time that writes took", *_DEVICE),
    gauge("container_fs_io_current", "reads and writes in progress", *_DEVICE),
    counter("container_fs_io_time_seconds_total", "time with a read or write in progress", *_DEVICE),
    counter("container_fs_io_time_weighted_seconds_total", "time of reads and writes in progress, weighted", *_DEVICE),
    counter("container_fs_io_cost_usage_seconds_total", "cost of reads and writes, as time of the disk", *_DEVICE),
    counter("container_fs_io_cost_wait_seconds_total", "time of waiting for cost to be paid", *_DEVICE),
    counter("container_fs_io_cost_indebt_seconds_total", "time in which cost was owed", *_DEVICE),
    counter("container_fs_io_cost_indelay_seconds_total", "time in which cost owed delayed tasks", *_DEVICE),
    counter(
        "container_blkio_device_usage_total", "bytes transferred to or from the disk",
        *_DEVICE, "major", "minor", "operation",
    ),
)  # fmt: skip

_PRESSURE: Final = tuple(
    counter(f"container_pressure_{resource}_{word}_seconds_total", f"time that {who} waited for {resource}", *_CGROUP)
    for resource in ("cpu", "memory", "io")
    for word, who in (("stalled", "all tasks"), ("waiting", "some task"))
)

_NETWORK: Final = tuple(
    counter(f"container_network_{way}_{what}_total", about.format(done), *_INTERFACE)
    for way, done in (("receive", "received"), ("transmit", "sent"))
    for what, about in (
        ("bytes", "{} bytes"), ("packets", "{} packets"), ("errors", "errors of {} packets"),
        ("packets_dropped", "dropped {} packets"),
    )
)  # fmt: skip

_HOST: Final = (
    gauge(
        "cadvisor_version_info", "1, with versions of the kernel and the system",
        "cadvisorRevision", "cadvisorVersion", "dockerVersion", "kernelVersion", "osVersion",
    ),
    gauge("machine_cpu_cores", "logical CPUs of the machine", *_MACHINE),
    gauge("machine_cpu_physical_cores", "physical cores of the machine", *_MACHINE),
    gauge("machine_cpu_sockets", "CPU sockets of the machine", *_MACHINE),
    gauge("machine_memory_bytes", "memory of the machine", *_MACHINE),
    gauge("machine_swap_bytes", "swap of the machine", *_MACHINE),
    gauge("container_scrape_error", "1 if there was an error while getting container figures, else 0"),
    gauge("machine_scrape_error", "1 if there was an error while getting machine figures, else 0"),
)  # fmt: skip

CADVISOR: Final[tuple[Metric, ...]] = (*_CPU, *_MEMORY, *_PROCESSES, *_DISK, *_PRESSURE, *_NETWORK, *_HOST)
