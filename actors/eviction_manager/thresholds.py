"""Which eviction thresholds are met, and which pressure conditions of the node follow. Pure.

Source: the reference's eviction manager. A threshold is met from the first observation below its amount; it is acted on
once it was met for its grace period. One that is acted on stays met until its minimum reclaim is there as well. A
condition holds from the first observation that meets a threshold, a soft one too, until no threshold was met for
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
    Layout,
)


class Observation(msgspec.Struct, frozen=True):
    """Of one signal, in bytes, inodes or process IDs."""

    available: int
    capacity: int


class Verdict(msgspec.Struct, frozen=True):
    """What an observation means."""

    conditions: frozenset[str]
    """Those that hold."""
    due: tuple[Threshold, ...]
    """The thresholds to act on, the most urgent one first: met for their grace period, and observed just now."""


def watched(config: KubeletConfiguration) -> tuple[Threshold, ...]:
    """The configured thresholds, those on memory first. Each hard one on the node's memory is copied to the memory that
    all pods may have, where that is limited; containerfs.* have no thresholds of their own (see `for_layout`)."""
    found = [one for one in thresholds(config) if not one.signal.startswith(f"{CONTAINER_DISK}.")]
    if "pods" in config.enforceNodeAllocatable:
        hard = [one for one in found if one.signal == MEMORY and not one.grace_seconds]
        found += [replace(one, signal=ALLOCATABLE_MEMORY) for one in hard]
    return tuple(sorted(found, key=lambda one: one.signal not in (MEMORY, ALLOCATABLE_MEMORY)))


def for_layout(found: Iterable[Threshold], layout: Layout) -> tuple[Threshold, ...]:
    """The same, and copies for the file system of writable layers: of those of the file system that it is."""
    found = tuple(found)
    if layout is Layout.SINGLE:
        return found  # they would be third copies of one signal
    source = IMAGE_DISK if layout is Layout.DEDICATED else NODE_DISK
    copies = (
        replace(one, signal=one.signal.replace(source, CONTAINER_DISK))
        for one in found
        if one.signal.startswith(f"{source}.")
    )
    return (*found, *copies)


def is_met(threshold: Threshold, observed: Mapping[str, Observation], *, reclaim: bool = False) -> bool:
    """Whether less than its amount is there; `reclaim`: than its amount and its minimum reclaim. Not so when the signal
    was not observed."""
    observation = observed.get(threshold.signal)
    if observation is None:
        return False
    needed = threshold.amount.of(observation.capacity)
    if reclaim and threshold.reclaim is not None:
        needed += threshold.reclaim.of(observation.capacity)
    return observation.available < needed


class ThresholdTracker:
    """Which thresholds are met, since when, and when each condition held last. Times: seconds of a monotonic clock."""

    def __init__(
        self, watched: Sequence[Threshold], transition_seconds: float, held: Iterable[str] = (), now: float = 0.0
    ) -> None:
        """`held`: the conditions that held when this was kept last; they go on."""
        self._watched = watched
        self._transition = transition_seconds
        self._since: dict[Threshold, float] = {}
        self._due: frozenset[Threshold] = frozenset()
        self._last: dict[str, float] = dict.fromkeys(held, now)

    def observe(self, observed: Mapping[str, Observation], now: float, layout: Layout = Layout.SINGLE) -> Verdict:
        """A signal that is missing stays as it was, and is not acted on."""
        watched = for_layout(self._watched, layout)
        met = [one for one in watched if self._is_met(one, observed)]
        self._since = {one: self._since.get(one, now) for one in met}
        self._last |= {CONDITION_OF[one.signal]: now for one in met}
        holding = {CONDITION_OF[one.signal] for one in met}
        self._last = {
            name: last for name, last in self._last.items() if name in holding or now - last < self._transition
        }
        due = [one for one in met if now - self._since[one] >= one.grace_seconds]
        self._due = frozenset(due)
        return Verdict(frozenset(self._last), tuple(one for one in due if one.signal in observed))

    def _is_met(self, threshold: Threshold, observed: Mapping[str, Observation]) -> bool:
        if threshold.signal not in observed:
            return threshold in self._since
        return is_met(threshold, observed, reclaim=threshold in self._due)


def still_met(watched: Iterable[Threshold], observed: Mapping[str, Observation]) -> bool:
    """Whether any threshold is met after the node itself was cleaned up, the minimum reclaim included."""
    return any(is_met(one, observed, reclaim=True) for one in watched)


def headroom(watched: Iterable[Threshold], observed: Mapping[str, Observation]) -> int | None:
    """Bytes of memory until the next threshold on memory that is not met; None: there is none, or nothing is known."""
    left = [
        one.available - threshold.amount.of(one.capacity)
        for threshold in watched
        if threshold.signal in (MEMORY, ALLOCATABLE_MEMORY) and (one := observed.get(threshold.signal)) is not None
    ]
    return min((each for each in left if each >= 0), default=None)
