"""Which actors read which fields of the configuration: they are restarted when one of the fields changes.

Names are as in the tree; `*` matches what follows. Fields in RESTART are read before the actors are made, or decide
what containers look like: they change with a restart of the agent only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_WORKERS: Final = "pod_workers/worker/*"
_SERVER: Final = "http_servers/node_server"
_KUBE: Final = "api_clients/kube_client"
_EVENTS: Final = "api_clients/event_client"
_HEARTBEAT: Final = "api_clients/heartbeat_client"

READERS: Final[dict[str, tuple[str, ...]]] = {
    _SERVER: (
        "address", "port", "tlsCipherSuites", "tlsCurvePreferences", "tlsMinVersion", "authentication", "authorization",
        "streamingConnectionIdleTimeout", "enableDebuggingHandlers", "enableContentionProfiling",
        "enableProfilingHandler", "enableDebugFlagsHandler", "enableSystemLogHandler", "enableSystemLogQuery",
        "runtimeRequestTimeout", "volumeStatsAggPeriod", "tracing",
    ),
    "http_servers/read_only_server": ("address", "readOnlyPort", "tracing"),
    "http_servers/healthz_server": ("healthzPort", "healthzBindAddress"),
    "http_servers/pod_resources_server": (),
    "cert_manager": (
        "tlsCertFile", "tlsPrivateKeyFile", "rotateCertificates", "serverTLSBootstrap", "authentication",
    ),
    "pod_config": ("staticPodPath", "staticPodURL", "staticPodURLHeader", "fileCheckFrequency", "httpCheckFrequency"),
    _KUBE: ("kubeAPIQPS", "kubeAPIBurst", "configMapAndSecretChangeDetectionStrategy", "tracing"),
    _EVENTS: ("eventRecordQPS", "eventBurst", "tracing"),
    _HEARTBEAT: (
        "nodeLeaseDurationSeconds", "nodeStatusUpdateFrequency", "nodeStatusReportFrequency", "nodeStatusMaxImages",
        "enableControllerAttachDetach", "localStorageCapacityIsolation", "port", "providerID", "tracing",
    ),
    "status_manager": (),
    _WORKERS: (
        "syncFrequency", "runtimeRequestTimeout", "crashLoopBackOff", "seccompDefault", "allowedUnsafeSysctls",
        "defaultPodSysctls", "userNamespaces", "clusterDomain", "clusterDNS", "resolvConf", "cpuCFSQuota",
        "cpuCFSQuotaPeriod", "memorySwap", "memoryThrottlingFactor", "memoryReservationPolicy", "containerLogMaxSize",
        "containerLogMaxFiles", "containerLogMaxWorkers", "containerLogMonitorInterval", "singleProcessOOMKill",
        "tracing",
    ),
    "container_manager": (
        "cpuCFSQuota", "cpuCFSQuotaPeriod", "maxPods", "podsPerCore", "podPidsLimit", "systemReserved",
        "kubeReserved", "reservedSystemCPUs", "systemReservedCgroup", "kubeReservedCgroup", "enforceNodeAllocatable",
        "qosReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionPressureTransitionPeriod",
        "evictionMaxPodGracePeriod", "evictionMinimumReclaim", "mergeDefaultEvictionSettings",
        "cpuManagerReconcilePeriod", "protectKernelDefaults", "kernelMemcgNotification",
        "localStorageCapacityIsolation", "memoryThrottlingFactor", "memoryReservationPolicy", "makeIPTablesUtilChains",
    ),
    "volume_manager": ("volumeStatsAggPeriod", "volumePluginDir", "enableControllerAttachDetach"),
    "image_manager": (
        "registryPullQPS", "registryBurst", "serializeImagePulls", "maxParallelImagePulls", "imageMinimumGCAge",
        "imageMaximumGCAge", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent",
        "runtimeRequestTimeout", "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist",
        "tracing",
    ),
    "pleg": ("runtimeRequestTimeout", "tracing", "podCIDR"),
    "prober": ("runtimeRequestTimeout", "tracing"),
}  # fmt: skip

RESTART: Final = frozenset({
    "enableServer", "containerRuntimeEndpoint", "imageServiceEndpoint", "podLogsDir", "cgroupDriver", "cgroupRoot",
    "cgroupsPerQOS", "kubeletCgroups", "systemCgroups", "failCgroupV1", "failSwapOn", "oomScoreAdj", "maxOpenFiles",
    "cpuManagerPolicy", "cpuManagerPolicyOptions", "memoryManagerPolicy", "reservedMemory", "topologyManagerPolicy",
    "topologyManagerScope", "topologyManagerPolicyOptions", "registerNode", "registerWithTaints", "featureGates",
    "showHiddenMetricsForVersion", "shutdownGracePeriod", "shutdownGracePeriodCriticalPods",
    "shutdownGracePeriodByPodPriority",
})  # fmt: skip
"""Fields that are never changed while the agent runs."""

ENGINE: Final = frozenset({"logging"})
"""Fields that every process acts on, by order of the fork server: they change at any time."""

UNREAD: Final = frozenset({
    "apiVersion", "contentType", "kind", "hairpinMode", "iptablesMasqueradeBit", "iptablesDropBit", "runOnce",
})  # fmt: skip
"""Fields that nobody reads."""


def readers_of(field: str) -> tuple[str, ...]:
    """Patterns of the names of the actors that read a top-level field."""
    return tuple(pattern for pattern, fields in READERS.items() if field in fields)


def can_change(field: str) -> bool:
    """Whether a field may change while the agent runs."""
    return field not in RESTART


def readers_of_all(fields: Iterable[str], workers: int) -> tuple[str, ...]:
    """The names of the actors that read any of the fields, in the order of the table."""
    patterns = {pattern: None for field in fields for pattern in readers_of(field)}
    names = [
        [f"pod_workers/worker/{number}" for number in range(workers)] if pattern == _WORKERS else [pattern]
        for pattern in READERS
        if pattern in patterns
    ]
    return tuple(name for group in names for name in group)
