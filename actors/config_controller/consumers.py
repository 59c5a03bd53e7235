"""The fields of the configuration that may change while the agent runs, and the actors that read them.

Each actor declares the fields that it reads (`declaration.py`). When one of them changes, the actor is restarted and
reads the new configuration. Fields in RESTART are read before the actors start, or determine how containers are
created: a change of them takes effect only with a restart of the agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
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

READ_ONCE: Final[Mapping[str, ActorName]] = MappingProxyType(
    {"registerNode": HEARTBEAT_CLIENT, "registerWithTaints": HEARTBEAT_CLIENT}
)
"""Those of them that one actor reads, once: in a tree without it they wait for nothing."""

ENGINE: Final = frozenset({"logging"})
"""Fields that the fork server applies in every process: they can change at any time."""

UNREAD: Final = frozenset({
    "apiVersion", "kind", "hairpinMode", "iptablesMasqueradeBit", "iptablesDropBit", "runOnce",
})  # fmt: skip
"""Fields that no actor reads."""


SWITCHES: Final = frozenset({"readOnlyPort"})
"""Fields with which an actor exists, and without which it does not: from or to zero they wait for a restart, too."""

RESERVED: Final = frozenset({"systemReserved", "kubeReserved", "reservedSystemCPUs"})
"""With a static policy of CPUs or memory they wait for a restart, too: what pods hold already was chosen by them, and
such a policy does not begin with others."""
MEMORY_RESERVED: Final = RESERVED | {"evictionHard", "mergeDefaultEvictionSettings"}
"""The same with a static policy of memory, which counts what evictionHard keeps free."""

Consumers = Mapping[ActorName, tuple[str, ...]]
"""The top-level fields that each actor, or pattern of names, reads."""


def can_change(field: str, running: object = None, desired: object = None, consumers: Consumers | None = None) -> bool:
    """Whether a field may change from one value to the other while the agent runs. `consumers`: the actors of its
    tree."""
    if field in READ_ONCE and consumers is not None and READ_ONCE[field] not in consumers:
        return True
    return field not in RESTART and (field not in SWITCHES or bool(running) == bool(desired))


def effect_of(field: str, consumers: Consumers, optional: Collection[str] = ()) -> str:
    """The effect of a change of a top-level field while the agent runs, as text. `optional`: actors that exist under
    some configurations only."""
    if field in RESTART:
        exception = f"; without {READ_ONCE[field]} it has no effect" if field in READ_ONCE else ""
        return f"waits for a restart of the agent; pods keep running{exception}"
    if field in ENGINE:
        return "acts at once, in every process"
    if field in UNREAD:
        return "has no effect: nothing reads it"
    affected = [name for name, read in consumers.items() if field in read]
    restart = f"{', '.join(affected)} {'restarts' if len(affected) == 1 else 'restart'}"
    exception = ""
    if field in SWITCHES:
        exception = "; from or to 0 it waits for a restart of the agent"
    elif field in MEMORY_RESERVED:
        policy = "memoryManagerPolicy: Static" if field not in RESERVED else "a static policy of CPUs or memory"
        exception = f"; with {policy} it waits for a restart of the agent"
    elif affected and all(name in optional for name in affected):
        exception = f"; without {' and '.join(affected)} it has no effect"
    return f"acts at once: {restart}, pods keep running{exception}"


def outcome(changed: Iterable[str], waiting: Iterable[str], consumers: Consumers) -> str:
    """The effect of each changed field of a new configuration, for the history; '' if none differs."""
    changed = list(changed)
    ignored = unread(changed, consumers)
    affected = {field: [name for name, read in consumers.items() if field in read] for field in changed}
    groups = {
        "acts": [
            f"{field} ({', '.join(names)})" if names else field
            for field, names in affected.items()
            if field not in ignored
        ],
        "waits for a restart": list(waiting),
        "without effect": ignored,
    }
    return "; ".join(f"{what}: {', '.join(fields)}" for what, fields in groups.items() if fields)


def unread(fields: Iterable[str], consumers: Consumers) -> list[str]:
    """The fields that no actor of this tree reads: a change of them has no effect here."""
    read = ENGINE.union(*consumers.values())
    return [field for field in fields if field not in read]


def consumers_of(fields: Iterable[str], consumers: Consumers, workers: int) -> tuple[ActorName, ...]:
    """The actors that read any of the fields, in the order of the tree. `workers`: the number of shards."""
    changed = set(fields)
    affected = [name for name, read in consumers.items() if not changed.isdisjoint(read)]
    return tuple(actor for name in affected for actor in (pod_workers(workers) if name == POD_WORKERS else [name]))
