"""Metrics of volumes and plug-ins."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metric, counter, gauge, histogram

_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600)
_CLAIM: Final = ("namespace", "persistentvolumeclaim")

METRICS: Final[tuple[Metric, ...]] = (
    histogram(
        "storage_operation_duration_seconds", "time of an operation on a volume",
        "migrated", "operation_name", "status", "volume_plugin", buckets=_SECONDS,
    ),
    histogram(
        "volume_operation_total_seconds", "time from the first order to mount a volume until it is mounted",
        "operation_name", "plugin_name", buckets=_SECONDS,
    ),
    histogram(
        "csi_operations_seconds", "time of a call to a CSI driver",
        "driver_name", "grpc_status_code", "method_name", "migrated", buckets=_SECONDS,
    ),
    gauge("volume_manager_total_volumes", "desired and actual volumes", "plugin_name", "state"),
    gauge("plugin_manager_total_plugins", "desired and registered plugins, by socket", "socket_path", "state"),
    gauge("kubelet_podcertificate_states", "certificates of pods", "signer_name", "state"),
    counter("reconstruct_volume_operations_total", "volumes found after a restart"),
    counter("reconstruct_volume_operations_errors_total", "volumes not readable after a restart"),
    counter("force_cleaned_failed_volume_operations_total", "removed volumes that were not readable"),
    counter("force_cleaned_failed_volume_operation_errors_total", "unreadable volumes that could not be removed"),
    gauge("kubelet_orphan_pod_cleaned_volumes", "orphaned volumes that the last sweep removed", starts_at_zero=True),
    gauge(
        "kubelet_orphan_pod_cleaned_volumes_errors",
        "orphaned volumes that the last sweep could not remove",
        starts_at_zero=True,
    ),
    counter("volume_renewals_failed_total", "volumes whose files could not be refreshed"),
    counter("volume_operations_hung_total", "system calls on a volume that did not return in time"),
    histogram("kubelet_volume_metric_collection_duration_seconds", "time to measure a volume", "metric_source"),
    gauge("kubelet_volume_stats_capacity_bytes", "size of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_available_bytes", "free bytes of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_used_bytes", "used bytes of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_inodes", "inodes of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_inodes_free", "free inodes of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_inodes_used", "used inodes of the volume", *_CLAIM),
    gauge("kubelet_volume_stats_health_status_abnormal", "1 if its driver reports it unhealthy, else 0", *_CLAIM),
)  # fmt: skip
