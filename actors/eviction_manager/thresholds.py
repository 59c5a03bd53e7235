"""Decides which eviction thresholds are met, and which pressure conditions follow. Pure.

Source: the kubelet's eviction manager. A threshold is met from the first observation below its amount, and due once it
has been met for its grace period. A due threshold stays met until its amount and its minimum reclaim are available. A
condition is true from the first observation that meets a threshold, hard or soft, until no threshold has been met for
evictionPressureTransitionPeriod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from actors.shared.config.fields.eviction import Threshold, thresholds
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .resources import (
    ALLOCATABLE_MEMORY,
    CONDITION_OF,
    CONTAINER_DISK,
    IMAGE_DISK,
    MEMORY,
    NODE_DISK,
    DiskLayout,
)


class SignalObservation(msgspec.Struct, frozen=True):
    """The value of one signal, in bytes, inodes or process IDs."""

    available: int
    capacity: int


class EvictionDecision(msgspec.Struct, frozen=True):
    """The result of one observation."""

    conditions: frozenset[str]
    """The conditions that are true."""
    due: tuple[Threshold, ...]
    """The thresholds met for their whole grace period and observed just now, the most urgent one first."""
    met: tuple[Threshold, ...] = ()
    """The thresholds met, also for less than their grace period."""


def watched(config: KubeletConfiguration) -> tuple[Threshold, ...]:
    """The configured thresholds, those on memory first. Each hard threshold on memory.available also applies to
    allocatableMemory.available. containerfs.* has no thresholds of its own (see `for_layout`)."""
    result = [one for one in thresholds(config) if not one.signal.startswith(f"{CONTAINER_DISK}.")]
    if "pods" in config.enforceNodeAllocatable:
        hard = [one for one in result if one.signal == MEMORY and not one.grace_seconds]
        result += [replace(one, signal=ALLOCATABLE_MEMORY) for one in hard]
    return tuple(sorted(result, key=lambda one: one.signal not in (MEMORY, ALLOCATABLE_MEMORY)))


def for_layout(configured: Iterable[Threshold], layout: DiskLayout) -> tuple[Threshold, ...]:
    """The thresholds, and copies for containerfs from the disk with the writable layers: nodefs or imagefs."""
    configured = tuple(configured)
    if layout is DiskLayout.SINGLE:
        return configured  # they would be third copies of one signal
    source = IMAGE_DISK if layout is DiskLayout.DEDICATED else NODE_DISK
    copies = (
        replace(one, signal=one.signal.replace(source, CONTAINER_DISK))
        for one in configured
        if one.signal.startswith(f"{source}.")
    )
    return (*configured, *copies)


def is_met(threshold: Threshold, observed: Mapping[str, SignalObservation], *, reclaim: bool = False) -> bool:
    """Whether less than its amount is available; with `reclaim`: less than its amount plus its minimum reclaim. False
    when the signal was not observed."""
    observation = observed.get(threshold.signal)
    if observation is None:
        return False
    needed = threshold.amount.of(observation.capacity)
    if reclaim and threshold.reclaim is not None:
        needed += threshold.reclaim.of(observation.capacity)
    return observation.available < needed


class ThresholdTracker:
    """Which thresholds are met, since when, and when each condition was last true. Times: monotonic seconds."""

    def __init__(
        self, watched: Sequence[Threshold], transition_seconds: float, conditions: Iterable[str] = (), now: float = 0.0
    ) -> None:
        """`conditions`: the saved conditions; they stay true for the transition period."""
        self._watched = watched
        self._transition = transition_seconds
        self._met_since: dict[Threshold, float] = {}
        self._due_thresholds: frozenset[Threshold] = frozenset()
        self._last_met: dict[str, float] = dict.fromkeys(conditions, now)

    def observe(
        self, observed: Mapping[str, SignalObservation], now: float, layout: DiskLayout = DiskLayout.SINGLE
    ) -> EvictionDecision:
        """The thresholds of a missing signal stay as they were, and are not due."""
        watched = for_layout(self._watched, layout)
        met = [one for one in watched if self._is_met(one, observed)]
        self._met_since = {one: self._met_since.get(one, now) for one in met}
        self._last_met |= {CONDITION_OF[one.signal]: now for one in met}
        holding = {CONDITION_OF[one.signal] for one in met}
        self._last_met = {
            name: last for name, last in self._last_met.items() if name in holding or now - last < self._transition
        }
        due = [one for one in met if now - self._met_since[one] >= one.grace_seconds]
        self._due_thresholds = frozenset(due)
        observed_due = tuple(one for one in due if one.signal in observed)
        return EvictionDecision(frozenset(self._last_met), observed_due, tuple(met))

    def _is_met(self, threshold: Threshold, observed: Mapping[str, SignalObservation]) -> bool:
        if threshold.signal not in observed:
            return threshold in self._met_since
        return is_met(threshold, observed, reclaim=threshold in self._due_thresholds)


def still_met(watched: Iterable[Threshold], observed: Mapping[str, SignalObservation]) -> bool:
    """Whether a threshold, minimum reclaim included, is met after the clean-up of the node."""
    return any(is_met(one, observed, reclaim=True) for one in watched)


def headroom(watched: Iterable[Threshold], observed: Mapping[str, SignalObservation]) -> int | None:
    """Bytes of available memory above the nearest memory threshold that is not met. None: there is none, or memory is
    unknown."""
    margins = [
        one.available - threshold.amount.of(one.capacity)
        for threshold in watched
        if threshold.signal in (MEMORY, ALLOCATABLE_MEMORY) and (one := observed.get(threshold.signal)) is not None
    ]
    return min((each for each in margins if each >= 0), default=None)
