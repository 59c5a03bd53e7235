"""What the stage tells the service manager: that it is ready, that it stops, that the root supervisor is alive."""

from __future__ import annotations

import importlib
import time
from typing import Any

from ..protocol import ROOT
from .loop import Loop
from .table import Table


class _Silent:
    def watchdog_interval(self) -> float:
        return 0.0

    def ready(self) -> None: ...
    def stopping(self) -> None: ...
    def ping(self) -> None: ...


def _notifier() -> Any:
    try:
        return importlib.import_module("supervision.notify")
    except ModuleNotFoundError:
        return _Silent()


class Watchdog:
    """Feeds systemd's watchdog while the root's heartbeat is current; nothing else decides whether we are well."""

    def __init__(self, loop: Loop, table: Table) -> None:
        self._loop, self._table = loop, table
        self._notify = _notifier()
        self._interval = self._notify.watchdog_interval()
        if self._interval:
            self._ping()

    def ready(self) -> None:
        self._notify.ready()

    def stopping(self) -> None:
        self._notify.stopping()

    def _ping(self) -> None:
        self._loop.call_later(self._interval / 2, self._ping)
        if self._root_is_well():
            self._notify.ping()

    def _root_is_well(self) -> bool:
        root = self._table.get(ROOT)
        if root is None or root.slot is None:
            # it is being replaced; if that does not end, the stage itself ends
            return True
        silent = time.monotonic() - max(root.slot.read().heartbeat, root.forked_at)
        return silent <= (root.policy.heartbeat_seconds or silent)
