"""Notifies the service manager that the agent is ready, that it stops, and that the root supervisor is alive."""

from __future__ import annotations

import time
from typing import Final

from .. import sd_notify
from ..protocol import ROOT
from ..time_scale import scaled
from .loop import Loop
from .process_table import ProcessTable

START_SECONDS: Final = 90.0
"""systemd's default of TimeoutStartSec."""
STOP_SECONDS: Final = 150.0
"""TimeoutStopSec of the unit in etc/systemd."""


class Watchdog:
    """Feeds systemd's watchdog while the root's heartbeat is current; nothing else counts as the agent's health.

    systemd measures start, stop and watchdog by its own deadlines, so it gets longer ones on a slow machine, and
    where a child may take longer for its start."""

    def __init__(self, loop: Loop, table: ProcessTable) -> None:
        self._loop, self._table = loop, table
        self._interval = scaled(sd_notify.watchdog_interval())
        self._extend(START_SECONDS, max((child.policy.start_seconds for child in table), default=0.0))
        if self._interval:
            if self._interval != sd_notify.watchdog_interval():
                sd_notify.set_watchdog(self._interval)
            self._ping()

    def ready(self) -> None:
        sd_notify.ready()

    def stopping(self) -> None:
        sd_notify.stopping()
        self._extend(STOP_SECONDS)

    def _extend(self, default: float, child: float = 0.0) -> None:
        """`default`: what systemd allows by itself; `child`: the longest deadline of a child, already scaled."""
        seconds = scaled(default)
        if child >= seconds:
            seconds += child
        if seconds != default:
            sd_notify.extend_timeout(seconds)

    def _ping(self) -> None:
        self._loop.call_later(self._interval / 2, self._ping)
        if self._root_is_responsive():
            sd_notify.ping()

    def _root_is_responsive(self) -> bool:
        root = self._table.get(ROOT)
        if root is None or root.process.status_entry is None:
            # the root is being replaced; if that fails, the fork server itself ends
            return True
        silent = time.monotonic() - max(root.process.status_entry.heartbeat, root.process.ordered_at)
        return silent <= (root.policy.heartbeat_seconds or silent)
