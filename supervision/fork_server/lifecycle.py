"""The state of the whole agent (starting, ready, degraded, stopping), and its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from ..time_scale import scaled
from .disposables import Disposables
from .loop import Loop
from .process_entry import ProcessEntry
from .process_table import ProcessTable
from .processes import ChildProcesses
from .shutdown import OrderedStop, is_whole
from .watchdog import Watchdog

_LAST_SECONDS = 2.0


class ForkServerLifecycle:
    """Ends the processes, in order or at once, and then the loop. It starts nothing."""

    def __init__(self, loop: Loop, table: ProcessTable, processes: ChildProcesses, disposables: Disposables) -> None:
        self._loop, self._table, self._processes, self._disposables = loop, table, processes, disposables
        self._watchdog = Watchdog(loop, table)
        self._was_ready = False
        self._stop: OrderedStop | None = None
        self.stopping = False
        self.code = 0
        """The exit code of the fork server."""

    @property
    def state(self) -> Literal["starting", "ready", "degraded", "stopping"]:
        if self.stopping:
            return "stopping"
        if not self._was_ready:
            return "starting"
        failed = any(child.is_over and not child.past.orderly for child in self._table)
        return "ready" if is_whole(self._table) and not failed else "degraded"

    def started(self) -> None:
        """A child is in service."""
        if not self._was_ready and is_whole(self._table):
            self._was_ready = True
            self._watchdog.ready()

    def exited(self, child: ProcessEntry) -> None:
        """The process of a child has ended."""
        if self._stop is not None:
            self._stop.ended(child)

    def start_stop(self, code: int = 0) -> None:
        """Stop everything in order. A second call changes nothing."""
        if self.stopping:
            return
        self.stopping, self.code = True, code
        self._watchdog.stopping()
        self._stop = OrderedStop(self._table, self._processes.stop, self._all_stopped)
        self._stop.start()

    def _all_stopped(self) -> None:
        self._disposables.kill_all()
        self._loop.stop()

    def end_at_once(self, reap: Callable[[], None]) -> None:
        """Kill every process; `reap` is called until all have ended or time is up."""
        self.stopping, self.code, self._stop = True, 1, None
        self._processes.kill_everything()
        self._disposables.kill_all()
        end = time.monotonic() + scaled(_LAST_SECONDS)
        while self._table.alive() and time.monotonic() < end:
            reap()
            time.sleep(0.002)
        self._loop.stop()
