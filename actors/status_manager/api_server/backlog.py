"""The pods that wait to be written to the API server, and their order. One entry for each pod, so it is bounded.

Pure: time and randomness are passed in. While the server does not answer, one write at a time tests whether it is back.
"""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.backoff import Backoff, BackoffPolicy, Rng

AT_ONCE: Final = 4
"""The most concurrent writes."""
TRANSITION, CHANGE = 0, 1
"""Priorities: what users and controllers wait for, or might miss (phase, readiness, the steps of a container, a
resize, deletion, a mirror), is written at once."""
GATHER_SECONDS: Final = 0.5
"""Seconds that any other change waits for further ones: a starting pod passes several states in that time, and each
write costs the server, its watchers and the node."""
POD_POLICY: Final = BackoffPolicy(first=0.5, maximum=10.0, free=0)
"""At most the period (syncPeriod) in which the kubelet writes all again: an outage may show as an error of each pod."""
REFUSED_POLICY: Final = BackoffPolicy(first=0.5, maximum=60.0, free=0)
"""Of a mirror that the server refuses: the kubelet creates it with its pod's next synchronization (syncFrequency)."""
UNREACHABLE_POLICY: Final = BackoffPolicy(first=0.5, maximum=5.0, free=0)


class _Entry(msgspec.Struct):
    priority: int
    order: int
    gather_until: float
    not_before: float = 0.0
    """When the pause after the last failure ends, by the clock of the caller."""

    @property
    def due(self) -> float:
        return max(self.not_before, self.gather_until if self.priority > TRANSITION else 0.0)


class Pause(msgspec.Struct, frozen=True):
    """The pause after a failed write, in seconds: that of a policy above, within what the server and the caller allow.
    The policies are our own: the kubelet writes again with its next batch."""

    rng: Rng
    at_least: float = 0.0
    """The pause that the server asks for (Retry-After)."""
    at_most: float = 3600.0
    policy: BackoffPolicy = POD_POLICY
    """While the server answers."""

    def of(self, failures: Backoff, policy: BackoffPolicy) -> float:
        return min(self.at_most, max(self.at_least, failures.pause(policy, self.rng)))


class StatusBacklog:
    """Keys are UIDs."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Entry] = {}
        self._failures: dict[str, Backoff] = {}
        self._in_flight: set[str] = set()
        self._unreachable = Backoff()
        self._resume_at = 0.0
        self._order = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def away(self) -> bool:
        """Whether the server did not answer the last write."""
        return self._unreachable.failures > 0

    def add(self, key: str, priority: int, now: float) -> None:
        """Add this pod. If it is already waiting, it keeps its place in the queue and its pause after a failure."""
        entry = self._waiting.get(key)
        if entry is None:
            self._order += 1
            self._waiting[key] = _Entry(priority, self._order, now + GATHER_SECONDS)
        else:
            entry.priority = min(entry.priority, priority)

    def drop(self, key: str) -> None:
        """Remove this pod: there is nothing to write."""
        self._waiting.pop(key, None)
        if key not in self._in_flight:
            self._failures.pop(key, None)

    def take(self, now: float) -> str | None:
        """The next pod to write, which is now in flight; None if nothing may be written now."""
        if now < self._resume_at or len(self._in_flight) >= (1 if self.away else AT_ONCE):
            return None
        due = [
            (entry.priority, entry.order, key)
            for key, entry in self._waiting.items()
            if entry.due <= now and key not in self._in_flight
        ]
        if not due:
            return None
        _, _, key = min(due)
        del self._waiting[key]
        self._in_flight.add(key)
        return key

    def succeeded(self, key: str) -> None:
        self._in_flight.discard(key)
        self._failures.pop(key, None)
        self._unreachable = Backoff()

    def failed(self, key: str, priority: int, now: float, pause: Pause) -> float:
        """Retry this pod after a growing pause, which is returned. Other pods do not wait."""
        self._in_flight.discard(key)
        failures = self._failures[key] = self._failures.get(key, Backoff()).failed(pause.policy)
        seconds = pause.of(failures, pause.policy)
        self.add(key, priority, now)
        self._waiting[key].not_before = now + seconds
        return seconds

    def server_failed(self, key: str, priority: int, now: float, pause: Pause) -> float:
        """The server does not answer, or refuses more requests: all pods wait, and one is retried first. Returns the
        pause.
        """
        self._in_flight.discard(key)
        self.add(key, priority, now)
        if now >= self._resume_at:
            # writes that were in flight together count as one failure
            self._unreachable = self._unreachable.failed(UNREACHABLE_POLICY)
            self._resume_at = now + pause.of(self._unreachable, UNREACHABLE_POLICY)
        return self._resume_at - now

    def server_is_back(self) -> None:
        """End all pauses."""
        self._unreachable, self._resume_at = Backoff(), 0.0
        self._failures.clear()
        for entry in self._waiting.values():
            entry.not_before = 0.0

    def next_due(self) -> float | None:
        """When the next entry becomes due; None: no entry waits only for a time."""
        times = [entry.due for key, entry in self._waiting.items() if key not in self._in_flight]
        return max(self._resume_at, min(times)) if times else None
