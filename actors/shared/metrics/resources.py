"""Metrics of calls to the runtime, of images, cgroups, and the managers of CPUs, memory and topology."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metric, counter, gauge, histogram

_CALL_SECONDS: Final = (
    0.005, 0.0125, 0.03125, 0.078125, 0.1953125, 0.48828125, 1.220703125, 3.0517578125, 7.62939453125,
    19.073486328125, 47.6837158203125, 119.20928955078125, 298.0232238769531, 745.0580596923828,
)  # fmt: skip
_PULL_SECONDS: Final = (
    1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
)  # fmt: skip
_ADMISSION_MILLISECONDS: Final = tuple(0.05 * 2**power for power in range(15))

_RUNTIME: Final = (
    counter("kubelet_runtime_operations_total", "calls to the runtime", "operation_type"),
    counter("kubelet_runtime_operations_errors_total", "failed calls to the runtime", "operation_type"),
    histogram(
        "kubelet_runtime_operations_duration_seconds", "time of a call to the runtime", "operation_type",
        buckets=_CALL_SECONDS,
    ),
)  # fmt: skip

_IMAGES: Final = (
    histogram(
        "kubelet_image_pull_duration_seconds", "time of a pull, by the image's size", "image_size_in_bytes",
        buckets=_PULL_SECONDS,
    ),
    counter("kubelet_image_garbage_collected_total", "removed images", "reason"),
    counter(
        "kubelet_image_manager_ensure_image_requests_total", "checks whether an image is present",
        "present_locally", "pull_policy", "pull_required",
    ),
    histogram("kubelet_credential_provider_plugin_duration", "time of a credential plug-in, in seconds", "plugin_name"),
    gauge("kubelet_credential_provider_config_info", "1, with the hash of the configuration of plug-ins", "hash"),
    counter("kubelet_imagemanager_image_mustpull_checks_total", "checks of a pod's credentials for an image", "result"),
    gauge("kubelet_imagemanager_ondisk_pulledrecords", "records of pulled images on disk"),
    gauge("kubelet_imagemanager_ondisk_pullintents", "records of unfinished pulls on disk"),
    counter("kubelet_credential_provider_plugin_errors_total", "failed runs of a credential plug-in", "plugin_name"),
    counter("kubelet_image_volume_requested_total", "requested image volumes"),
    counter("kubelet_image_volume_mounted_succeed_total", "mounted image volumes"),
    counter("kubelet_image_volume_mounted_errors_total", "image volumes that could not be mounted"),
)  # fmt: skip

_CGROUPS: Final = (
    gauge("kubelet_cgroup_version", "version of cgroups, 1 or 2"),
    counter("kubelet_device_plugin_registration_total", "registrations of device plugins", "resource_name"),
    histogram("kubelet_device_plugin_alloc_duration_seconds", "time of a device plugin's Allocate", "resource_name"),
    gauge("kubelet_memory_qos_node_memory_min_bytes", "memory of Guaranteed pods that the kernel never reclaims"),
    gauge("kubelet_memory_qos_node_memory_low_bytes", "memory of Burstable pods that the kernel reclaims last"),
    histogram("kubelet_cgroup_manager_duration_seconds", "time of an operation on a cgroup", "operation_type"),
    counter("kubelet_admission_rejections_total", "pods rejected at admission", "reason"),
)

_EVICTIONS: Final = (
    counter("kubelet_evictions", "evicted pods, by signal", "eviction_signal"),
    histogram(
        "kubelet_eviction_stats_age_seconds", "age of the figures for an eviction", "eviction_signal",
        buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    ),
    counter("kubelet_preemptions", "pods preempted for a critical pod, by its missing resource", "preemption_signal"),
)  # fmt: skip

_MANAGERS: Final = (
    counter("kubelet_cpu_manager_pinning_requests_total", "containers that request exclusive CPUs"),
    counter("kubelet_cpu_manager_pinning_errors_total", "containers that did not get exclusive CPUs"),
    gauge(
        "kubelet_cpu_manager_shared_pool_size_millicores", "shared CPUs, in thousandths", starts_at_zero=True
    ),
    gauge(
        "kubelet_cpu_manager_exclusive_cpu_allocation_count",
        "exclusive CPUs of containers",
        starts_at_zero=True,
    ),
    gauge("kubelet_cpu_manager_allocation_per_numa", "exclusive CPUs of containers, by NUMA node", "numa_node"),
    counter(
        "kubelet_container_aligned_compute_resources_count", "containers or pods whose hardware is aligned",
        "scope", "boundary",
    ),
    counter(
        "kubelet_container_aligned_compute_resources_failure_count",
        "containers or pods whose hardware could not be aligned", "scope", "boundary",
    ),
    counter("kubelet_memory_manager_pinning_requests_total", "containers that request pinned memory"),
    counter("kubelet_memory_manager_pinning_errors_total", "containers that did not get pinned memory"),
    counter("kubelet_topology_manager_admission_requests_total", "pods whose topology was checked"),
    counter("kubelet_topology_manager_admission_errors_total", "pods rejected for their topology"),
    histogram(
        "kubelet_topology_manager_admission_duration_ms", "time to check a pod's topology, in milliseconds",
        buckets=_ADMISSION_MILLISECONDS,
    ),
)  # fmt: skip

_CLAIM_SECONDS: Final = (
    0.1, 0.153413, 0.235355, 0.361064, 0.553918, 0.849781, 1.30367, 2, 3.06825, 4.70709, 7.22128, 11.0784, 16.9956,
    26.0735, 40,
)  # fmt: skip
_CLAIMS: Final = (
    histogram(
        "dra_operations_duration_seconds", "time to prepare or unprepare the resource claims of a pod",
        "operation_name", "is_error", buckets=_CLAIM_SECONDS,
    ),
    histogram(
        "dra_grpc_operations_duration_seconds", "time of a call to a DRA driver",
        "driver_name", "method_name", "grpc_status_code", buckets=_CLAIM_SECONDS,
    ),
    gauge("dra_resource_claims_in_use", "prepared resource claims by driver, and all as <any>", "driver_name"),
)  # fmt: skip

METRICS: Final[tuple[Metric, ...]] = (*_RUNTIME, *_IMAGES, *_CGROUPS, *_EVICTIONS, *_MANAGERS, *_CLAIMS)
