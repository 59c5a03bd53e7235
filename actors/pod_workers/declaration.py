"""The declaration of the pod workers."""

from __future__ import annotations

from typing import Final

from actors.pleg.messages import PLEG
from actors.pod_config.messages import POD_CONFIG
from actors.prober.messages import PROBER
from actors.shared.declaration import CRI, POD_HOLDER, Declaration

from .messages import POD_WORKERS

DECLARATION: Final = Declaration(
    name=POD_WORKERS,
    actor="actors.pod_workers.actor:Shard",
    instances=lambda agent: agent.workers,
    reads=(
        "syncFrequency",
        "runtimeRequestTimeout",
        "crashLoopBackOff",
        "seccompDefault",
        "defaultPodSysctls",
        "clusterDomain",
        "clusterDNS",
        "resolvConf",
        "cpuCFSQuota",
        "cpuCFSQuotaPeriod",
        "memorySwap",
        "memoryThrottlingFactor",
        "memoryReservationPolicy",
        "containerLogMaxSize",
        "containerLogMaxFiles",
        "containerLogMaxWorkers",
        "containerLogMonitorInterval",
        "singleProcessOOMKill",
        "tracing",
    ),
    fed_by=(POD_CONFIG, PLEG, PROBER),
    policy=POD_HOLDER,
    preload=CRI,
    prepare=("actors.shared.kube.codec:prepare",),
    arguments=lambda relations: {"inventory_consumers": relations.inventory},
)
