"""Fields that are read and judged, but that nothing acts on yet: one table, and the one warning it leads to.

Who builds a part takes its fields out of the table; a test checks that nobody reads what is still in it.
"""

from __future__ import annotations

from typing import Final

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

MISSING: Final[dict[str, str]] = {
    "volumePluginDir": "FlexVolume",
    "userNamespaces": "user namespaces of pods",
    "kernelMemcgNotification": "notification by memory cgroups",
    "memoryReservationPolicy": "memory.min and memory.low",
    "memoryThrottlingFactor": "memory.high",
    "evictionSoft": "eviction",
    "evictionSoftGracePeriod": "eviction",
    "evictionMinimumReclaim": "eviction",
    "evictionMaxPodGracePeriod": "eviction",
    "cpuManagerReconcilePeriod": "CPU manager",
    "cpuManagerPolicy": "CPU manager",
    "cpuManagerPolicyOptions": "CPU manager",
    "memoryManagerPolicy": "memory manager",
    "reservedMemory": "memory manager",
    "topologyManagerPolicy": "topology manager",
    "topologyManagerScope": "topology manager",
    "topologyManagerPolicyOptions": "topology manager",
    "enableContentionProfiling": "profiling of contention",
    "preloadedImagesVerificationAllowlist": "verification of pull credentials",
    "imagePullCredentialsVerificationPolicy": "verification of pull credentials",
}
"""Top-level field to what does not exist."""

_DEFAULTS: Final = KubeletConfiguration()


def without_effect(config: KubeletConfiguration) -> list[str]:
    """The warning, as a list of one or none: the fields that are not at their default, with what does not exist."""
    given = [field for field in MISSING if getattr(config, field) != getattr(_DEFAULTS, field)]
    if not given:
        return []
    named = ", ".join(f"{field} (there is no {MISSING[field]} yet)" for field in sorted(given))
    return [f"accepted without effect: {named}"]
