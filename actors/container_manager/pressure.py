"""The node's pressure conditions, from what is left of memory, disk and process IDs. Pure.

As in the reference's eviction manager: a condition holds from the first observation that crosses a threshold, a soft
one too, until no threshold was crossed for evictionPressureTransitionPeriod. Pods are not evicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from actors.shared.admission.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.fields.eviction import Threshold

CONDITION_OF: Final = {
    "memory.available": MEMORY_PRESSURE,
    "nodefs.available": DISK_PRESSURE,
    "nodefs.inodesFree": DISK_PRESSURE,
    "imagefs.available": DISK_PRESSURE,
    "imagefs.inodesFree": DISK_PRESSURE,
    "pid.available": PID_PRESSURE,
}
"""By signal. containerfs.* are copies of the others."""


class Observation(msgspec.Struct, frozen=True):
    """Of one signal, in bytes, inodes or process IDs."""

    available: int
    capacity: int


class Pressure:
    """Which thresholds are crossed, and when each condition held last. Times are seconds of a monotonic clock."""

    def __init__(self, thresholds: Sequence[Threshold], transition_seconds: float) -> None:
        self._thresholds = [each for each in thresholds if each.signal in CONDITION_OF]
        self._transition = transition_seconds
        self._crossed: set[Threshold] = set()
        self._last: dict[str, float] = {}

    def observe(self, observed: Mapping[str, Observation], now: float) -> frozenset[str]:
        """The conditions that hold now. A signal that is missing stays as it was."""
        for threshold in self._thresholds:
            if threshold.signal in observed:
                self._cross(threshold, observed[threshold.signal])
        self._last |= {CONDITION_OF[threshold.signal]: now for threshold in self._crossed}
        return self._present(now)

    def _present(self, now: float) -> frozenset[str]:
        crossed = {CONDITION_OF[threshold.signal] for threshold in self._crossed}
        return frozenset(name for name, last in self._last.items() if name in crossed or now - last < self._transition)

    def _cross(self, threshold: Threshold, observation: Observation) -> None:
        minimum = threshold.amount.of(observation.capacity)
        if threshold in self._crossed and threshold.reclaim is not None:
            minimum += threshold.reclaim.of(observation.capacity)
        if observation.available < minimum:
            self._crossed.add(threshold)
        else:
            self._crossed.discard(threshold)
