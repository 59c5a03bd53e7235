"""Tells the service manager that the agent is ready, that it stops, and that the root supervisor is alive."""

from __future__ import annotations

import time

from .. import sd_notify
from ..protocol import ROOT
from .loop import Loop
from .table import ProcessTable


class Watchdog:
    """Feeds systemd's watchdog while the root's heartbeat is current; nothing else counts as the agent's health."""

    def __init__(self, loop: Loop, table: ProcessTable) -> None:
        self._loop, self._table = loop, table
        self._interval = sd_notify.watchdog_interval()
        if self._interval:
            self._ping()

    def ready(self) -> None:
        sd_notify.ready()

    def stopping(self) -> None:
        sd_notify.stopping()

    def _ping(self) -> None:
        self._loop.call_later(self._interval / 2, self._ping)
        if self._root_is_well():
            sd_notify.ping()

    def _root_is_well(self) -> bool:
        root = self._table.get(ROOT)
        if root is None or root.status_entry is None:
            # the root is being replaced; if that fails, the fork server itself ends
            return True
        silent = time.monotonic() - max(root.status_entry.heartbeat, root.ordered_at)
        return silent <= (root.policy.heartbeat_seconds or silent)
