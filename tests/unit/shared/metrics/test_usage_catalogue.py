"""The pages of usage figures against the names, types and labels that the kubelet 1.36 and its cAdvisor have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actors.shared.metrics.usage import CADVISOR, RESOURCE

_CGROUP = "container id image name namespace pod"
_MACHINE = "boot_id machine_id system_uuid"
_CADVISOR = {
    ("gauge", "cadvisorRevision cadvisorVersion dockerVersion kernelVersion osVersion"): """
        cadvisor_version_info
    """,
    ("counter", f"{_CGROUP} device major minor operation"): """
        container_blkio_device_usage_total
    """,
    ("counter", _CGROUP): """
        container_cpu_cfs_burst_periods_total container_cpu_cfs_burst_seconds_total
        container_cpu_cfs_periods_total container_cpu_cfs_throttled_periods_total
        container_cpu_cfs_throttled_seconds_total container_cpu_system_seconds_total
        container_cpu_user_seconds_total container_memory_failcnt container_oom_events_total
        container_pressure_cpu_stalled_seconds_total container_pressure_cpu_waiting_seconds_total
        container_pressure_io_stalled_seconds_total container_pressure_io_waiting_seconds_total
        container_pressure_memory_stalled_seconds_total container_pressure_memory_waiting_seconds_total
    """,
    ("gauge", _CGROUP): """
        container_cpu_load_average_10s container_cpu_load_d_average_10s container_file_descriptors
        container_health_state container_last_seen container_memory_cache container_memory_kernel_usage
        container_memory_mapped_file container_memory_max_usage_bytes container_memory_rss
        container_memory_swap container_memory_total_active_file_bytes
        container_memory_total_inactive_file_bytes container_memory_usage_bytes
        container_memory_working_set_bytes container_processes container_sockets container_spec_cpu_period
        container_spec_cpu_quota container_spec_cpu_shares container_spec_memory_limit_bytes
        container_spec_memory_reservation_limit_bytes container_spec_memory_swap_limit_bytes
        container_start_time_seconds container_threads container_threads_max
    """,
    ("counter", f"{_CGROUP} cpu"): """
        container_cpu_usage_seconds_total
    """,
    ("gauge", f"{_CGROUP} device"): """
        container_fs_inodes_free container_fs_inodes_total container_fs_io_current container_fs_limit_bytes
        container_fs_usage_bytes
    """,
    ("counter", f"{_CGROUP} device"): """
        container_fs_io_cost_indebt_seconds_total container_fs_io_cost_indelay_seconds_total
        container_fs_io_cost_usage_seconds_total container_fs_io_cost_wait_seconds_total
        container_fs_io_time_seconds_total container_fs_io_time_weighted_seconds_total
        container_fs_read_seconds_total container_fs_reads_bytes_total container_fs_reads_merged_total
        container_fs_reads_total container_fs_sector_reads_total container_fs_sector_writes_total
        container_fs_write_seconds_total container_fs_writes_bytes_total container_fs_writes_merged_total
        container_fs_writes_total
    """,
    ("counter", f"{_CGROUP} failure_type scope"): """
        container_memory_failures_total
    """,
    ("counter", f"{_CGROUP} interface"): """
        container_network_receive_bytes_total container_network_receive_errors_total
        container_network_receive_packets_dropped_total container_network_receive_packets_total
        container_network_transmit_bytes_total container_network_transmit_errors_total
        container_network_transmit_packets_dropped_total container_network_transmit_packets_total
    """,
    ("gauge", ""): """
        container_scrape_error machine_scrape_error
    """,
    ("gauge", f"{_CGROUP} state"): """
        container_tasks_state
    """,
    ("gauge", f"{_CGROUP} ulimit"): """
        container_ulimits_soft
    """,
    ("gauge", _MACHINE): """
        machine_cpu_books machine_cpu_cores machine_cpu_drawers machine_cpu_physical_cores
        machine_cpu_sockets machine_memory_bytes machine_nvm_avg_power_budget_watts machine_swap_bytes
    """,
    ("gauge", f"{_MACHINE} type"): """
        machine_dimm_capacity_bytes machine_dimm_count
    """,
    ("gauge", f"{_MACHINE} mode"): """
        machine_nvm_capacity
    """,
}
_RESOURCE = {
    ("counter", "container namespace pod"): """
        container_cpu_usage_seconds_total
    """,
    ("gauge", "container namespace pod"): """
        container_memory_working_set_bytes container_start_time_seconds container_swap_limit_bytes
        container_swap_usage_bytes
    """,
    ("counter", ""): """
        node_cpu_usage_seconds_total
    """,
    ("gauge", ""): """
        node_memory_working_set_bytes node_swap_usage_bytes resource_scrape_error scrape_error
    """,
    ("counter", "namespace pod"): """
        pod_cpu_usage_seconds_total
    """,
    ("gauge", "namespace pod"): """
        pod_memory_working_set_bytes pod_swap_usage_bytes
    """,
}
"""Names, by type and labels."""
DOCUMENT = Path(__file__).parents[4] / "docs" / "metrics.md"
PAGES = [(CADVISOR, _CADVISOR), (RESOURCE, _RESOURCE)]


def left_out() -> set[str]:
    """What docs/metrics.md says is not on the page."""
    rows = [line.split("|")[1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)}


@pytest.mark.parametrize(("declared", "facts"), PAGES)
def test_a_page_has_every_metric_of_the_kubelet_as_it_has_it_or_a_reason(declared, facts):
    expected = {
        name: (kind, frozenset(labels.split()))
        for (kind, labels), names in facts.items()
        for name in names.split()
        if name not in left_out()
    }
    assert {metric.name: (metric.kind, metric.labels) for metric in declared} == expected
