"""Metrics of the program: its tree, configuration, servers, client of the API server, certificates, traces."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metric, counter, gauge, histogram

_API_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_API_BYTES: Final = (64, 256, 512, 1024, *(1 << bits for bits in range(12, 25, 2)))
_HOUR, _DAY = 3600, 86400
_CERTIFICATE_AGES: Final = (
    60, _HOUR, 4 * _HOUR, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 180 * _DAY, 360 * _DAY, 1440 * _DAY,
)  # fmt: skip
_HTTP: Final = ("long_running", "method", "path", "server_type")
_VERSION: Final = "server_api_version"
_POD_CALLS: Final = ("server_api_version", "status_code")

_PROGRAM: Final = (
    gauge(
        "kubernetes_build_info",
        "1, with the version of the agent as labels",
        "build_date",
        "compiler",
        "git_commit",
        "git_tree_state",
        "git_version",
        "go_version",
        "major",
        "minor",
        "platform",
    ),
    gauge("version_info", "1, with versions as labels", "binary", "component", "emulation", "min_compat"),
    gauge("kubernetes_feature_enabled", "1 if the feature gate is on, else 0", "name", "stage"),
    counter("disabled_metrics_total", "metrics switched off by configuration"),
    counter("hidden_metrics_total", "metrics omitted because of their deprecation"),
    gauge("process_start_time_seconds", "start of the agent, seconds since 1970"),
    counter("process_cpu_seconds_total", "CPU time of all processes of the agent, in seconds"),
    gauge("process_resident_memory_bytes", "memory of all processes of the agent"),
    gauge("process_virtual_memory_bytes", "virtual memory of all processes of the agent"),
    gauge("process_open_fds", "open file descriptors of all processes of the agent"),
    gauge("process_max_fds", "file descriptors that one process of the agent may open"),
    gauge("kubelet_metrics_provider", "1 for the source of container metrics", "provider"),
    gauge("kubelet_node_name", "1, with the name of the node", "node"),
    gauge("kubelet_node_startup_duration_seconds", "time from boot to ready"),
    gauge("kubelet_node_startup_pre_kubelet_duration_seconds", "time from boot to the start of the agent"),
    gauge("kubelet_node_startup_pre_registration_duration_seconds", "time from the agent's start to registration"),
    gauge("kubelet_node_startup_registration_duration_seconds", "time that registration took"),
    gauge("kubelet_node_startup_post_registration_duration_seconds", "time from registration to ready"),
    gauge(
        "kubelet_graceful_shutdown_start_time_seconds",
        "start of the last graceful shutdown, seconds since 1970",
        starts_at_zero=True,
    ),
    gauge(
        "kubelet_graceful_shutdown_end_time_seconds",
        "end of the last graceful shutdown, seconds since 1970",
        starts_at_zero=True,
    ),
    counter("config_checkpoint_errors_total", "configurations in force that could not be saved"),
)

_TREE: Final = (
    gauge("troupelet_actor_up", "1 if the actor runs, else 0", "actor"),
    counter("troupelet_actor_restarts_total", "restarts of the actor", "actor"),
    gauge("troupelet_actor_memory_bytes", "memory of the actor's process, as its ceiling counts it", "actor"),
    gauge("troupelet_actor_mailbox_messages", "messages in the actor's mailbox", "actor"),
    gauge("troupelet_actor_uptime_seconds", "age of the actor's process", "actor"),
    gauge("troupelet_actor_busy_seconds", "time since the actor started to handle its current message", "actor"),
    gauge("troupelet_actor_heartbeat_age_seconds", "time since the actor's last heartbeat", "actor"),
    counter("troupelet_actor_messages_handled_total", "messages that the actor's process has handled", "actor"),
    counter("troupelet_actor_messages_dropped_total", "messages that the actor's process has dropped", "actor"),
    counter("troupelet_actor_dead_letters_total", "messages of the actor's process that were not delivered", "actor"),
    counter("troupelet_scrape_failures_total", "scrapes in which the actor did not answer in time", "actor"),
)

_SERVERS: Final = (
    gauge("kubelet_http_inflight_requests", "requests in progress", *_HTTP),
    counter("kubelet_http_requests_total", "served requests", *_HTTP),
    histogram("kubelet_http_requests_duration_seconds", "time to serve a request", *_HTTP),
    counter("kubelet_websocket_streaming_requests_total", "streams over WebSocket", "subresource"),
    counter("kubelet_pod_resources_endpoint_requests_total", "calls of the pod resources API", _VERSION),
    counter("kubelet_pod_resources_endpoint_requests_list", "calls of List", _VERSION),
    counter("kubelet_pod_resources_endpoint_requests_get", "calls of Get", _VERSION),
    counter("kubelet_pod_resources_endpoint_requests_get_allocatable", "calls of GetAllocatableResources", _VERSION),
    counter("kubelet_pod_resources_endpoint_errors_list", "failed calls of List", _VERSION),
    counter("kubelet_pod_resources_endpoint_errors_get", "failed calls of Get", _VERSION),
    counter(
        "kubelet_pod_resources_endpoint_errors_get_allocatable", "failed calls of GetAllocatableResources", _VERSION
    ),
    counter("kubelet_pod_requests_total", "calls of the pods API", *_POD_CALLS),
    counter("kubelet_pod_requests_list_total", "calls of ListPods", *_POD_CALLS),
    counter("kubelet_pod_requests_get_total", "calls of GetPod", *_POD_CALLS),
    counter("kubelet_pod_requests_watch_total", "ended calls of WatchPods", *_POD_CALLS),
    counter("kubelet_pod_watch_events_dropped_total", "watches ended because their client was too slow"),
    gauge("kubernetes_healthcheck", "1 if the last run of the health check passed, else 0", "name", "type"),
    counter("kubernetes_healthchecks_total", "results of the health check", "name", "status", "type"),
)

_API_SERVER: Final = (
    counter("rest_client_requests_total", "requests to the API server", "code", "host", "method"),
    histogram("rest_client_request_duration_seconds", "time of a request", "host", "verb", buckets=_API_SECONDS),
    histogram(
        "rest_client_rate_limiter_duration_seconds",
        "time that a request waited for the client's rate limit",
        "host",
        "verb",
        buckets=_API_SECONDS,
    ),
    histogram("rest_client_request_size_bytes", "size of a request", "host", "verb", buckets=_API_BYTES),
    histogram("rest_client_response_size_bytes", "size of a response", "host", "verb", buckets=_API_BYTES),
    counter("rest_client_exec_plugin_call_total", "runs of a credential plugin", "call_status", "code"),
    histogram(
        "rest_client_exec_plugin_certificate_rotation_age",
        "age of a credential plugin's certificate at its replacement, in seconds",
        buckets=(600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000),
    ),
    gauge("rest_client_exec_plugin_ttl_seconds", "time until a credential plugin's certificate expires"),
    counter("rest_client_request_retries_total", "retried requests", "code", "host", "verb"),
    counter("troupelet_events_total", "events that actors have reported", "type", "reason"),
    counter("troupelet_events_dropped_total", "events that were not sent", "why"),
    counter("troupelet_lease_failures_total", "failed renewals of the node lease"),
    gauge("troupelet_lease_renewed_timestamp_seconds", "last renewal of the node lease, seconds since 1970"),
    gauge("troupelet_cached_objects", "secrets and config maps in the cache"),
    gauge("troupelet_object_watches", "watches of secrets and config maps"),
)

_CERTIFICATES: Final = (
    gauge("kubelet_certificate_manager_client_ttl_seconds", "time until the client certificate expires"),
    counter("kubelet_certificate_manager_client_expiration_renew_errors", "failed renewals of the client certificate"),
    gauge("kubelet_certificate_manager_server_ttl_seconds", "time until the serving certificate expires"),
    histogram(
        "kubelet_certificate_manager_server_rotation_seconds",
        "age of the serving certificate at its replacement",
        buckets=_CERTIFICATE_AGES,
    ),
    counter("kubelet_server_expiration_renew_errors", "failed renewals of the serving certificate"),
)

_TRACES: Final = (
    counter("troupelet_trace_spans_exported_total", "spans accepted by the collector"),
    counter("troupelet_trace_spans_dropped_total", "spans that were not exported", "reason"),
)  # fmt: skip

METRICS: Final[tuple[Metric, ...]] = (*_PROGRAM, *_TREE, *_SERVERS, *_API_SERVER, *_CERTIFICATES, *_TRACES)
