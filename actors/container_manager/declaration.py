"""The declaration of the container manager."""

from __future__ import annotations

from typing import Final

from actors.eviction_manager.messages import EVICTION_MANAGER
from actors.shared.declaration import CRI, Declaration
from actors.shutdown_manager.messages import SHUTDOWN_MANAGER

from .messages import CONTAINER_MANAGER

DECLARATION: Final = Declaration(
    name=CONTAINER_MANAGER,
    actor="actors.container_manager.actor:ContainerManager",
    reads=(
        "cpuCFSQuota",
        "cpuCFSQuotaPeriod",
        "maxPods",
        "podsPerCore",
        "podPidsLimit",
        "allowedUnsafeSysctls",
        "systemReserved",
        "kubeReserved",
        "reservedSystemCPUs",
        "systemReservedCgroup",
        "kubeReservedCgroup",
        "enforceNodeAllocatable",
        "qosReserved",
        "evictionHard",
        "mergeDefaultEvictionSettings",
        "cpuManagerReconcilePeriod",
        "runtimeRequestTimeout",
        "protectKernelDefaults",
        "localStorageCapacityIsolation",
        "memoryThrottlingFactor",
        "memoryReservationPolicy",
        "makeIPTablesUtilChains",
        "userNamespaces",
    ),
    fed_by=(SHUTDOWN_MANAGER, EVICTION_MANAGER),
    pod_inventory=True,
    preload=CRI,
)
