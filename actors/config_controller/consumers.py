"""Which fields of the configuration may change while the agent runs, and whom a change concerns.

Each actor declares what it reads (`declaration.py`). When that changes it is restarted in good order, and begins with
the configuration of now. Fields in RESTART are read before the actors are made, or decide what containers look like:
they change with a restart of the agent only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from actors.pod_workers.messages import POD_WORKERS, pod_workers
from supervision.addresses import ActorName

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
"""Fields that no actor reads."""


Consumers = Mapping[ActorName, tuple[str, ...]]
"""Each actor, or pattern of names, to the top-level fields that it reads."""


def can_change(field: str) -> bool:
    """Whether a field may change while the agent runs."""
    return field not in RESTART


def consumers_of(fields: Iterable[str], consumers: Consumers, workers: int) -> tuple[ActorName, ...]:
    """The names of the actors that read any of the fields, in the order of the tree; `workers`: how many there are."""
    wanted = set(fields)
    found = [name for name, read in consumers.items() if not wanted.isdisjoint(read)]
    return tuple(one for name in found for one in (pod_workers(workers) if name == POD_WORKERS else [name]))
