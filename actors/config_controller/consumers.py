"""Which fields of the configuration may change while the agent runs, and which actors read them.

Each actor declares the fields that it reads (`declaration.py`). When one of them changes, the actor is restarted and
reads the new configuration. Fields in RESTART are read before the actors start, or determine how containers are
created: a change of them takes effect only with a restart of the agent.
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
"""Fields that never change while the agent runs."""

ENGINE: Final = frozenset({"logging"})
"""Fields that the fork server applies in every process: they can change at any time."""

UNREAD: Final = frozenset({
    "apiVersion", "contentType", "kind", "hairpinMode", "iptablesMasqueradeBit", "iptablesDropBit", "runOnce",
})  # fmt: skip
"""Fields that no actor reads."""


Consumers = Mapping[ActorName, tuple[str, ...]]
"""The top-level fields that each actor, or pattern of names, reads."""


def can_change(field: str) -> bool:
    """Whether a field may change while the agent runs."""
    return field not in RESTART


def consumers_of(fields: Iterable[str], consumers: Consumers, workers: int) -> tuple[ActorName, ...]:
    """The actors that read any of the fields, in the order of the tree. `workers`: the number of shards."""
    changed = set(fields)
    readers = [name for name, read in consumers.items() if not changed.isdisjoint(read)]
    return tuple(actor for name in readers for actor in (pod_workers(workers) if name == POD_WORKERS else [name]))
