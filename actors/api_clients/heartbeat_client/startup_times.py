"""Metrics of the node's way from the boot of the host to its first Ready, in seconds since boot.

The wall clock may be set meanwhile; it is not used.
"""

from __future__ import annotations

import time
from typing import Final

from supervision import process_stat

PREFIX: Final = "kubelet_node_startup"


def since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def agent_started(pid: int) -> float:
    """The start of the process, in seconds since boot; the current time if it cannot be read."""
    started_at = process_stat.started(pid)
    return since_boot() if started_at is None else started_at


class StartupTimes:
    """Only a node that was registered for the first time has them, as in the kubelet."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._tried: float | None = None
        self._registered: float | None = None
        self._ready = False

    def trying(self, now: float) -> None:
        self._tried = now if self._tried is None else self._tried

    def registered(self, now: float) -> dict[str, float]:
        """Gauges by name, when the node is registered; {} later."""
        if self._tried is None or self._registered is not None:
            return {}
        self._registered = now
        return {
            f"{PREFIX}_pre_kubelet_duration_seconds": self._started,
            f"{PREFIX}_pre_registration_duration_seconds": self._tried - self._started,
            f"{PREFIX}_registration_duration_seconds": now - self._tried,
        }

    def ready(self, now: float) -> dict[str, float]:
        """Gauges by name, at the first Ready of a node that is new; {} otherwise."""
        if self._ready or self._registered is None:
            return {}
        self._ready = True
        return {
            f"{PREFIX}_post_registration_duration_seconds": now - self._registered,
            f"{PREFIX}_duration_seconds": now,
        }
