"""Metrics of pods and containers, of probes, and of the PLEG."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metric, counter, gauge, histogram

STATIC_LABELS: Final = {False: "", True: "true"}
"""The label `static` of a pod, as the kubelet writes it."""
_START_SECONDS: Final = (
    0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
)  # fmt: skip
_STATUS_SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60)
_RESIZE_MILLISECONDS: Final = (
    10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
)  # fmt: skip

_PODS: Final = (
    gauge("kubelet_desired_pods", "pods that the node should run", "static"),
    gauge("kubelet_active_pods", "pods that are not terminal", "static"),
    gauge("kubelet_mirror_pods", "mirror pods at the API server"),
    gauge("kubelet_working_pods", "pods by phase of their worker", "config", "lifecycle", "static"),
    gauge("kubelet_running_pods", "pods with a ready sandbox"),
    gauge("kubelet_running_containers", "containers by state", "container_state"),
    counter("kubelet_orphaned_runtime_pods_total", "running pods that no source has"),
    gauge("kubelet_managed_ephemeral_containers", "ephemeral containers of desired pods"),
    gauge("pod_config_quarantined_pods", "manifests in quarantine"),
    gauge("pod_config_manifest_errors", "manifests that cannot be read"),
    counter("status_manager_status_changes_total", "changes of a pod's status"),
    counter("status_manager_outdated_observations_total", "reports of workers older than the known state"),
    gauge("status_manager_unwritten_pods", "pods whose status is not written to the API server yet"),
    counter("status_manager_status_writes_total", "writes of a pod's status", "code"),
    gauge("troupelet_pods_stuck_terminating", "pods terminating for longer than their grace period", "phase"),
)

_STARTS: Final = (
    histogram("kubelet_pod_start_duration_seconds", "time from first seen to running", buckets=_START_SECONDS),
    histogram(
        "kubelet_pod_start_sli_duration_seconds",
        "time from creation to running, without pulls and init containers",
        buckets=_START_SECONDS,
    ),
    histogram("kubelet_pod_start_total_duration_seconds", "time from creation to running", buckets=_START_SECONDS),
    gauge(
        "kubelet_first_network_pod_start_sli_duration_seconds",
        "kubelet_pod_start_sli_duration_seconds of the first pod with its own network",
    ),
    histogram("kubelet_pod_status_sync_duration_seconds", "time until a status is written", buckets=_STATUS_SECONDS),
    histogram("kubelet_pod_worker_start_duration_seconds", "time from first seen to the first sync"),
    histogram("kubelet_pod_worker_duration_seconds", "time of a sync", "operation_type"),
    gauge(
        "kubelet_container_log_filesystem_used_bytes",
        "bytes used by the logs of a container",
        "container",
        "namespace",
        "pod",
        "uid",
    ),
    histogram("kubelet_containers_per_pod_count", "containers of a pod", buckets=(1, 2, 4, 8, 16)),
    counter("kubelet_started_pods_total", "started sandboxes"),
    counter("kubelet_started_pods_errors_total", "sandboxes that could not be started"),
    counter("kubelet_started_user_namespaced_pods_total", "started sandboxes with a user namespace"),
    counter(
        "kubelet_started_user_namespaced_pods_errors_total", "sandboxes with a user namespace that could not be started"
    ),
    histogram("kubelet_run_podsandbox_duration_seconds", "time to start a sandbox", "runtime_handler"),
    counter("kubelet_run_podsandbox_errors_total", "sandboxes that could not be started", "runtime_handler"),
    counter("kubelet_started_containers_total", "container starts by container type", "container_type"),
    counter(
        "kubelet_started_containers_errors_total", "containers that could not be started", "code", "container_type"
    ),
    counter(
        "kubelet_terminated_containers_total",
        "ends of containers, by reason",
        "container_type",
        "exit_code",
        "reason",
    ),
    counter("kubelet_lifecycle_handler_http_fallbacks_total", "HTTPS hooks retried over HTTP"),
    counter("kubelet_sleep_action_terminated_early_total", "sleep hooks that were cut short"),
)

_RESIZES: Final = (
    gauge("kubelet_pod_pending_resizes", "pending resizes, deferred or infeasible", "reason"),
    gauge("kubelet_pod_in_progress_resizes", "resizes in progress"),
    counter("kubelet_restarted_pods_total", "pods that were added again with the same UID", "static"),
    counter(
        "kubelet_container_requested_resizes_total",
        "requested changes of requests and limits",
        "resource",
        "requirement",
        "operation",
    ),
    counter("kubelet_pod_deferred_accepted_resizes_total", "deferred resizes that were accepted", "retry_trigger"),
    counter("kubelet_pod_infeasible_resizes_total", "resizes refused because they never fit", "reason_detail"),
    histogram("kubelet_pod_resize_duration_milliseconds", "time of a resize", "success", buckets=_RESIZE_MILLISECONDS),
)

_PROBES: Final = (
    counter(
        "prober_probe_total", "results of probes",
        "container", "namespace", "pod", "pod_uid", "probe_type", "result",
    ),
    histogram(
        "prober_probe_duration_seconds", "duration of a probe that did not fail",
        "container", "namespace", "pod", "probe_type",
    ),
    gauge("prober_pods", "pods with probes"),
)  # fmt: skip

_PLEG: Final = (
    histogram("kubelet_pleg_relist_duration_seconds", "time of a relist"),
    histogram("kubelet_pleg_relist_interval_seconds", "time between two relists"),
    histogram("kubelet_pleg_pod_relist_duration_seconds", "time to list one pod"),
    gauge("kubelet_pleg_last_seen_seconds", "last relist, seconds since 1970"),
    counter("kubelet_pleg_discard_events", "dropped events"),
    counter("kubelet_evented_pleg_connection_success_count", "connections to the runtime's stream of events"),
    counter("kubelet_evented_pleg_connection_error_count", "failed connections to the runtime's stream of events"),
    histogram("kubelet_evented_pleg_connection_latency_seconds", "time from an event to its receipt"),
)

METRICS: Final[tuple[Metric, ...]] = (*_PODS, *_STARTS, *_RESIZES, *_PROBES, *_PLEG)
