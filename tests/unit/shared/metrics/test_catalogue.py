"""The catalogue against the names, types, labels and buckets that the kubelet 1.36 has."""

from __future__ import annotations

import pytest

from actors.shared.metrics import METRICS, catalogue

FACTS = {
    ("counter", ""): """
        kubelet_container_aligned_compute_resources_count boundary scope
        kubelet_container_aligned_compute_resources_failure_count boundary scope
        kubelet_device_plugin_registration_total resource_name
        kubelet_imagemanager_image_mustpull_checks_total result
        kubelet_restarted_pods_total static
        disabled_metrics_total
        force_cleaned_failed_volume_operation_errors_total
        force_cleaned_failed_volume_operations_total
        hidden_metrics_total
        kubelet_admission_rejections_total reason
        kubelet_certificate_manager_client_expiration_renew_errors
        kubelet_cpu_manager_pinning_errors_total
        kubelet_cpu_manager_pinning_requests_total
        kubelet_credential_provider_plugin_errors_total plugin_name
        kubelet_evented_pleg_connection_error_count
        kubelet_evented_pleg_connection_success_count
        kubelet_evictions eviction_signal
        kubelet_http_requests_total long_running method path server_type
        kubelet_image_garbage_collected_total reason
        kubelet_image_manager_ensure_image_requests_total present_locally pull_policy pull_required
        kubelet_image_volume_mounted_errors_total
        kubelet_image_volume_mounted_succeed_total
        kubelet_image_volume_requested_total
        kubelet_lifecycle_handler_http_fallbacks_total
        kubelet_memory_manager_pinning_errors_total
        kubelet_memory_manager_pinning_requests_total
        kubelet_orphaned_runtime_pods_total
        kubelet_pleg_discard_events
        kubelet_container_requested_resizes_total operation requirement resource
        kubelet_pod_deferred_accepted_resizes_total retry_trigger
        kubelet_pod_infeasible_resizes_total reason_detail
        kubelet_pod_requests_get_total server_api_version status_code
        kubelet_pod_requests_list_total server_api_version status_code
        kubelet_pod_requests_total server_api_version status_code
        kubelet_pod_requests_watch_total server_api_version status_code
        kubelet_pod_resources_endpoint_errors_get server_api_version
        kubelet_pod_resources_endpoint_errors_get_allocatable server_api_version
        kubelet_pod_resources_endpoint_errors_list server_api_version
        kubelet_pod_resources_endpoint_requests_get server_api_version
        kubelet_pod_resources_endpoint_requests_get_allocatable server_api_version
        kubelet_pod_resources_endpoint_requests_list server_api_version
        kubelet_pod_resources_endpoint_requests_total server_api_version
        kubelet_pod_watch_events_dropped_total
        kubelet_preemptions preemption_signal
        kubelet_run_podsandbox_errors_total runtime_handler
        kubelet_runtime_operations_errors_total operation_type
        kubelet_runtime_operations_total operation_type
        kubelet_server_expiration_renew_errors
        kubelet_sleep_action_terminated_early_total
        kubelet_started_containers_errors_total code container_type
        kubelet_started_containers_total container_type
        kubelet_started_pods_errors_total
        kubelet_started_pods_total
        kubelet_started_user_namespaced_pods_errors_total
        kubelet_started_user_namespaced_pods_total
        kubelet_terminated_containers_total container_type exit_code reason
        kubelet_topology_manager_admission_errors_total
        kubelet_topology_manager_admission_requests_total
        kubelet_websocket_streaming_requests_total subresource
        kubernetes_healthchecks_total name status type
        prober_probe_total container namespace pod pod_uid probe_type result
        reconstruct_volume_operations_errors_total
        reconstruct_volume_operations_total
        rest_client_exec_plugin_call_total call_status code
        rest_client_request_retries_total code host verb
        rest_client_requests_total code host method
    """,
    ("gauge", ""): """
        kubelet_container_log_filesystem_used_bytes container namespace pod uid
        kubelet_cpu_manager_allocation_per_numa numa_node
        kubelet_cpu_manager_exclusive_cpu_allocation_count
        kubelet_cpu_manager_shared_pool_size_millicores
        kubelet_credential_provider_config_info hash
        kubelet_imagemanager_ondisk_pulledrecords
        kubelet_imagemanager_ondisk_pullintents
        kubelet_pod_pending_resizes reason
        kubelet_pod_in_progress_resizes
        kubelet_active_pods static
        kubelet_certificate_manager_client_ttl_seconds
        kubelet_certificate_manager_server_ttl_seconds
        kubelet_cgroup_version
        kubelet_memory_qos_node_memory_low_bytes
        kubelet_memory_qos_node_memory_min_bytes
        kubelet_desired_pods static
        kubelet_first_network_pod_start_sli_duration_seconds
        kubelet_graceful_shutdown_end_time_seconds
        kubelet_graceful_shutdown_start_time_seconds
        kubelet_http_inflight_requests long_running method path server_type
        kubelet_managed_ephemeral_containers
        kubelet_metrics_provider provider
        kubelet_mirror_pods
        kubelet_node_name node
        kubelet_node_startup_duration_seconds
        kubelet_node_startup_post_registration_duration_seconds
        kubelet_node_startup_pre_kubelet_duration_seconds
        kubelet_node_startup_pre_registration_duration_seconds
        kubelet_node_startup_registration_duration_seconds
        kubelet_orphan_pod_cleaned_volumes
        kubelet_podcertificate_states signer_name state
        kubelet_orphan_pod_cleaned_volumes_errors
        kubelet_pleg_last_seen_seconds
        kubelet_running_containers container_state
        kubelet_running_pods
        kubelet_volume_stats_health_status_abnormal namespace persistentvolumeclaim
        kubelet_volume_stats_available_bytes namespace persistentvolumeclaim
        kubelet_volume_stats_capacity_bytes namespace persistentvolumeclaim
        kubelet_volume_stats_inodes namespace persistentvolumeclaim
        kubelet_volume_stats_inodes_free namespace persistentvolumeclaim
        kubelet_volume_stats_inodes_used namespace persistentvolumeclaim
        kubelet_volume_stats_used_bytes namespace persistentvolumeclaim
        kubelet_working_pods config lifecycle static
        kubernetes_build_info build_date compiler git_commit git_tree_state git_version go_version major minor platform
        kubernetes_feature_enabled name stage
        kubernetes_healthcheck name type
        process_start_time_seconds
        version_info binary component emulation min_compat
        rest_client_exec_plugin_ttl_seconds
        volume_manager_total_volumes plugin_name state
    """,
    ("histogram", "600 1800 3600 14400 86400 604800 2592000 7776000 15552000 31104000 124416000"): """
        rest_client_exec_plugin_certificate_rotation_age
    """,
    ("histogram", "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10"): """
        kubelet_device_plugin_alloc_duration_seconds resource_name
        prober_probe_duration_seconds container namespace pod probe_type
        kubelet_cgroup_manager_duration_seconds operation_type
        kubelet_credential_provider_plugin_duration plugin_name
        kubelet_eviction_stats_age_seconds eviction_signal
        kubelet_evented_pleg_connection_latency_seconds
        kubelet_http_requests_duration_seconds long_running method path server_type
        kubelet_pleg_pod_relist_duration_seconds
        kubelet_pleg_relist_duration_seconds
        kubelet_pleg_relist_interval_seconds
        kubelet_pod_worker_duration_seconds operation_type
        kubelet_pod_worker_start_duration_seconds
        kubelet_run_podsandbox_duration_seconds runtime_handler
        kubelet_volume_metric_collection_duration_seconds metric_source
    """,
    (
        "histogram",
        "0.005 0.0125 0.03125 0.078125 0.195312 0.488281 1.2207 "
        "3.05176 7.62939 19.0735 47.6837 119.209 298.023 745.058",
    ): """
        kubelet_runtime_operations_duration_seconds operation_type
    """,
    ("histogram", "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60"): """
        rest_client_rate_limiter_duration_seconds host verb
        rest_client_request_duration_seconds host verb
    """,
    ("histogram", "0.01 0.05 0.1 0.5 1 5 10 20 30 45 60"): """
        kubelet_pod_status_sync_duration_seconds
    """,
    ("histogram", "0.05 0.1 0.2 0.4 0.8 1.6 3.2 6.4 12.8 25.6 51.2 102.4 204.8 409.6 819.2"): """
        kubelet_topology_manager_admission_duration_ms
    """,
    ("histogram", "0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600"): """
        csi_operations_seconds driver_name grpc_status_code method_name migrated
        storage_operation_duration_seconds migrated operation_name status volume_plugin
        volume_operation_total_seconds operation_name plugin_name
    """,
    ("histogram", "0.5 1 2 3 4 5 6 8 10 20 30 45 60 120 180 240 300 360 480 600 900 1200 1800 2700 3600"): """
        kubelet_pod_start_duration_seconds
        kubelet_pod_start_sli_duration_seconds
        kubelet_pod_start_total_duration_seconds
    """,
    ("histogram", "1 2 4 8 16"): """
        kubelet_containers_per_pod_count
    """,
    ("histogram", "1 5 10 20 30 60 120 180 240 300 360 480 600 900 1200 1800 2700 3600"): """
        kubelet_image_pull_duration_seconds image_size_in_bytes
    """,
    ("histogram", "10 50 100 500 1000 2000 5000 10000 20000 30000 60000 120000 300000 600000"): """
        kubelet_pod_resize_duration_milliseconds success
    """,
    ("histogram", "60 3600 14400 86400 604800 2592000 7776000 15552000 31104000 124416000"): """
        kubelet_certificate_manager_server_rotation_seconds
    """,
    ("histogram", "64 256 512 1024 4096 16384 65536 262144 1048580 4194300 16777200"): """
        rest_client_request_size_bytes host verb
        rest_client_response_size_bytes host verb
    """,
}
"""Name and labels of each metric, by its type and buckets; of those that this agent has reason to have."""
ROWS = [
    (line.split()[0], set(line.split()[1:]), kind, [float(bound) for bound in buckets.split()])
    for (kind, buckets), lines in FACTS.items()
    for line in lines.strip().splitlines()
]


@pytest.mark.parametrize(("name", "labels", "kind", "buckets"), ROWS)
def test_a_metric_of_the_kubelet_is_declared_as_it_has_it(name, labels, kind, buckets):
    metric = catalogue()[name]
    assert (metric.kind, metric.labels) == (kind, labels)
    assert metric.buckets == pytest.approx(buckets, rel=1e-5)


def test_a_metric_with_a_prefix_of_the_kubelet_is_one_of_its_metrics():
    known = {name for name, *_ in ROWS}
    prefixes = ("kubelet_", "rest_client_", "kubernetes_", "csi_", "storage_", "volume_manager_", "prober_probe_")
    assert {metric.name for metric in METRICS if metric.name.startswith(prefixes)} - known == set()


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_help_has_more_words_than_the_name(metric):
    assert len(metric.help.split()) > 1
    assert metric.help.replace(" ", "_") not in metric.name
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert list(metric.buckets) == sorted(metric.buckets)
