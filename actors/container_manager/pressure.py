"""Whether the node runs short of something, and whom it refuses then. Pure.

As the reference's eviction manager has it: a condition holds from the first look that finds a threshold crossed, soft
ones too, until none was crossed for evictionPressureTransitionPeriod. Pods are not evicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from actors.shared.config.fields.eviction import Threshold
from actors.shared.kube.pod import Pod, Toleration
from actors.shared.kube.pods import is_critical, qos_class

from .ledger import Refusal

MEMORY: Final = "memory"
DISK: Final = "disk"
PIDS: Final = "pids"
CONDITIONS: Final = {MEMORY: "MemoryPressure", DISK: "DiskPressure", PIDS: "PIDPressure"}
_OF: Final = {
    "memory.available": MEMORY,
    "nodefs.available": DISK,
    "nodefs.inodesFree": DISK,
    "imagefs.available": DISK,
    "imagefs.inodesFree": DISK,
    "pid.available": PIDS,
}
"""containerfs.* are copies of the others."""
_TAINT: Final = "node.kubernetes.io/memory-pressure"


class Seen(msgspec.Struct, frozen=True):
    """Of one signal, in bytes, inodes or process IDs."""

    available: int
    capacity: int


class Pressure:
    """What is short. Times are of a clock that nobody sets, in seconds."""

    def __init__(self, thresholds: Sequence[Threshold], transition_seconds: float) -> None:
        self._thresholds = [each for each in thresholds if each.signal in _OF]
        self._transition = transition_seconds
        self._crossed: set[Threshold] = set()
        self._last: dict[str, float] = {}

    def look(self, seen: Mapping[str, Seen], now: float) -> frozenset[str]:
        """The kinds that are short now. A signal that was not seen is as it was."""
        for threshold in self._thresholds:
            if threshold.signal in seen:
                self._judge(threshold, seen[threshold.signal])
        self._last |= {_OF[threshold.signal]: now for threshold in self._crossed}
        return self.present(now)

    def present(self, now: float) -> frozenset[str]:
        crossed = {_OF[threshold.signal] for threshold in self._crossed}
        return frozenset(kind for kind, last in self._last.items() if kind in crossed or now - last < self._transition)

    def _judge(self, threshold: Threshold, seen: Seen) -> None:
        bar = threshold.amount.of(seen.capacity)
        if threshold in self._crossed and threshold.reclaim is not None:
            bar += threshold.reclaim.of(seen.capacity)
        if seen.available < bar:
            self._crossed.add(threshold)
        else:
            self._crossed.discard(threshold)


def refuse(pod: Pod, short: frozenset[str]) -> Refusal | None:
    """Why this pod may not come while the node is short of that; None when it may."""
    if not short or is_critical(pod):
        return None
    if short == {MEMORY} and (qos_class(pod) != "BestEffort" or any(map(_tolerates, pod.spec.tolerations))):
        return None
    conditions = " ".join(name for kind, name in CONDITIONS.items() if kind in short)
    return Refusal("Evicted", f"The node had condition: [{conditions}]. ")


def _tolerates(toleration: Toleration) -> bool:
    return toleration.effect in ("", "NoSchedule") and (
        (toleration.key == _TAINT and (toleration.operator == "Exists" or not toleration.value))
        or (not toleration.key and toleration.operator == "Exists")
    )
