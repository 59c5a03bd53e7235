"""Fields and feature gates that are validated but have no effect yet: two tables, and one warning.

To implement one, remove it from its table; a test checks that no actor reads a listed one.
"""

from __future__ import annotations

from typing import Final

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

MISSING: Final[dict[str, str]] = {
    "enableContentionProfiling": "profiling of contention",
}
"""Top-level field to the missing feature."""

MISSING_GATES: Final[dict[str, str]] = {
    "AllowOverwriteTerminationGracePeriodSeconds": "old treatment of negative grace periods",
    "CRIListStreaming": "streaming of CRI lists",
    "ChangeContainerStatusOnKubeletRestart": "reset of container statuses at a restart",
    "DRANodeAllocatableResources": "claims on CPU and memory of the node",
    "DRAWorkloadResourceClaims": "claims of groups of pods",
    "GitRepoVolumeDriver": "gitRepo volume",
    "ImageVolumeWithDigest": "digest of image volumes",
    "KubeletInUserNamespace": "rootless agent",
    "KubeletRegistrationGetOnExistsOnly": "other way of registration",
    "LocalStorageCapacityIsolationFSQuotaMonitoring": "measuring by project quotas",
    "NativeHistograms": "native histogram",
    "PodAndContainerStatsFromCRI": "statistics by the runtime",
    "ReduceDefaultCrashLoopBackOffDecay": "shorter default back-off",
    "RuntimeClassInImageCriApi": "runtime handler of images",
    "SELinuxMount": "mounting with an SELinux context",
    "TaintTolerationComparisonOperators": "toleration with Gt or Lt",
    "UserNamespacesHostNetworkSupport": "user namespaces on the host network",
    "VolumeLimitScaling": "volume limits for autoscaling",
}
"""Gate of the node that is off by default, to the missing feature."""

REFUSED_GATES: Final[dict[str, str]] = {
    "PodLevelResourceManagers": "the CPU, memory and topology managers pass over pods with resources of their own",
}
"""Alpha gates whose missing effect would show only once pods run, with what is missing. A start with one is refused. If
only AllAlpha turns it on, it is a warning, because this feature was not requested by name."""

ONLY: Final = {"contentType": ("application/json", "application/vnd.kubernetes.protobuf")}
"""Field to the supported values. The first takes the place of others."""

_DEFAULTS: Final = KubeletConfiguration()


def without_effect(config: KubeletConfiguration) -> list[str]:
    """The warning, as a list of one or none: the fields and gates without effect that differ from their default."""
    named = [
        f"{field} (not done here: {MISSING[field]})"
        for field in sorted(MISSING)
        if getattr(config, field) != getattr(_DEFAULTS, field)
    ]
    named += [
        f"feature gate {gate} (not done here: {feature})"
        for gate, feature in MISSING_GATES.items()
        if enabled(gate, config.featureGates)
    ]
    named += [
        f"feature gate {gate} ({why})"
        for gate, why in REFUSED_GATES.items()
        if enabled(gate, config.featureGates) and gate not in config.featureGates
    ]
    named += [
        f"{field} ({values[0]} is what the agent uses)"
        for field, values in ONLY.items()
        if getattr(config, field) not in values
    ]
    return [f"accepted without effect: {', '.join(named)}"] if named else []
