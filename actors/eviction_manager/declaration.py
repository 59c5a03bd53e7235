"""Declaration of the eviction manager."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import Declaration

from .messages import EVICTION_MANAGER

DECLARATION: Final = Declaration(
    name=EVICTION_MANAGER,
    actor="actors.eviction_manager.actor:EvictionManager",
    reads=(
        "evictionHard",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "evictionPressureTransitionPeriod",
        "evictionMaxPodGracePeriod",
        "evictionMinimumReclaim",
        "mergeDefaultEvictionSettings",
        "enforceNodeAllocatable",
        "kernelMemcgNotification",
        "localStorageCapacityIsolation",
        "volumeStatsAggPeriod",
        "runtimeRequestTimeout",
    ),
)
