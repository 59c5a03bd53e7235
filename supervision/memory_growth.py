"""By how much each input has made an actor's process grow, so that a death for lack of memory, or by a SIGKILL from
outside, is blamed on the input that caused it, if any, and not on what happened to be in hand. Sizes are KiB."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Final, NamedTuple

LEAST_KIB: Final = 32 * 1024
"""Less is what work on any input may need."""


def peak_kib() -> int:
    """The most memory that this process has had in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Growth(NamedTuple):
    """What is recorded of one input."""

    key: str = ""
    first: int = 0
    """What the process had in use when the actor began."""
    grown: int = 0
    """By how much earlier steps for this input have raised that."""
    peak: int = 0
    """What it had in use at most when the step in hand began; 0: no step is in hand."""

    def until(self, memory: int) -> int:
        """Its whole growth, if the process had `memory` at its end."""
        return self.grown + (max(0, memory - self.peak) if self.peak else 0)


class MemoryGrowth:
    """The growth of this process by input. A step that stays below the highest memory so far is no growth."""

    def __init__(self, most_keys: int, peak: Callable[[], int] = peak_kib) -> None:
        self._most_keys, self._peak = most_keys, peak
        self._first = self._at_start = peak()
        self._by_key: dict[str, int] = {}
        self._largest = ""

    def started(self, key: str) -> Growth:
        """A step for the input begins."""
        self._at_start = self._peak()
        return Growth(key, self._first, self._by_key.get(key, 0), self._at_start)

    def ended(self, key: str) -> Growth | None:
        """It has ended. Returns the record of the input that has made the process grow most, if that changed."""
        grown = self._peak() - self._at_start
        if not key or grown <= 0:
            return None
        if key not in self._by_key and len(self._by_key) >= self._most_keys:
            del self._by_key[min(self._by_key, key=self._by_key.__getitem__)]
        total = self._by_key[key] = self._by_key.get(key, 0) + grown
        if key != self._largest and total <= self._by_key.get(self._largest, 0):
            return None
        self._largest = key
        return Growth(key, self._first, total)


def blamed(current: Growth, largest: Growth, memory: int) -> str:
    """The input whose steps made at least half of the growth of a process that ended with `memory`, and no little of
    it; '' for none. Pure."""
    most = max((largest, current), key=lambda one: one.until(memory))
    total = memory - most.first
    return most.key if most.until(memory) >= max(LEAST_KIB, total / 2) else ""
