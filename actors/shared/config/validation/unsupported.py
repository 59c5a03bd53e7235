"""Fields that are validated but have no effect yet: one table, and one warning.

Whoever implements a field removes it from the table; a test checks that no actor reads a listed field.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

MISSING: Final[dict[str, str]] = {
    "volumePluginDir": "FlexVolume",
    "userNamespaces": "user namespaces of pods",
    "memoryReservationPolicy": "memory.min and memory.low",
    "memoryThrottlingFactor": "memory.high",
    "cpuManagerReconcilePeriod": "CPU manager",
    "cpuManagerPolicy": "CPU manager",
    "cpuManagerPolicyOptions": "CPU manager",
    "memoryManagerPolicy": "memory manager",
    "reservedMemory": "memory manager",
    "topologyManagerPolicy": "topology manager",
    "topologyManagerScope": "topology manager",
    "topologyManagerPolicyOptions": "topology manager",
    "enableContentionProfiling": "profiling of contention",
}
"""Top-level field to the missing feature."""

ONLY: Final[dict[str, str]] = {"contentType": "application/json"}
"""Field to the only supported value; the kubelet's default may differ."""

_DEFAULTS: Final = KubeletConfiguration()


def without_effect(config: KubeletConfiguration, given: Container[str] = ()) -> list[str]:
    """The warning, as a list of one or none: the fields without effect that differ from their default.

    `given`: the fields that a file or a flag sets.
    """
    named = [
        f"{field} (there is no {MISSING[field]} yet)"
        for field in sorted(MISSING)
        if getattr(config, field) != getattr(_DEFAULTS, field)
    ]
    named += [
        f"{field} ({value} is what the agent uses)"
        for field, value in ONLY.items()
        if field in given and getattr(config, field) != value
    ]
    return [f"accepted without effect: {', '.join(named)}"] if named else []
