"""A pod whose state the runtime does not report: an event says so, as in the kubelet with each synchronization.

A runtime that is about to end, or that removes a container, returns errors for a moment: these cause no event."""

from __future__ import annotations

from typing import Final

REASON: Final = "FailedSync"
CALM_SECONDS: Final = 10.0
"""The time until the first event, and between events."""


def text_of(error: str) -> str:
    return f"error determining status: {error}"


class UnreadableStatus:
    """The failures in a row of one pod. Times are in seconds, of one clock."""

    def __init__(self) -> None:
        self._told_at: float | None = None
        """When the last event was emitted, or the first failure came; None: the last look was answered."""

    def read(self) -> None:
        self._told_at = None

    def failed(self, now: float) -> bool:
        """Whether an event is due."""
        if self._told_at is None or now < self._told_at:  # the clock was set back
            self._told_at = now
            return False
        due = now >= self._told_at + CALM_SECONDS
        if due:
            self._told_at = now
        return due
