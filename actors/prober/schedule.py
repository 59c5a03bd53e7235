"""When each probe runs next, and which run now: each has one timer or one run, never both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from supervision.actor import Actor, Timer
from supervision.task_context import InputRecord

from .probe_type import Key


class Schedule:
    """The timers and tasks of all probes."""

    def __init__(
        self, actor: Actor, run: Callable[[Key], Coroutine[Any, Any, None]], record: Callable[[Key], InputRecord | None]
    ) -> None:
        """`record`: records the pod that a run works for, for the quarantine."""
        self._actor, self._run, self._record = actor, run, record
        self._timers: dict[Key, Timer] = {}
        self._runs: dict[Key, asyncio.Task[Any]] = {}

    def set(self, key: Key, seconds: float) -> None:
        """Run it after that time, unless it is scheduled or runs already."""
        if key not in self._timers and key not in self._runs:
            self._timers[key] = self._actor.after(seconds, lambda: self._start(key))

    def unset(self, key: Key) -> None:
        """Do not run it; a run under way continues."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def end(self, key: Key) -> None:
        """Do not run the probe, and cancel a run in progress."""
        self.unset(key)
        run = self._runs.pop(key, None)
        if run is not None:
            run.cancel()

    def ran(self, key: Key) -> None:
        """Its run is over: it may be scheduled again."""
        self._runs.pop(key, None)

    def _start(self, key: Key) -> None:
        self._timers.pop(key, None)
        self._runs[key] = self._actor.start_task(self._run(key), "probe " + "/".join(key), record=self._record(key))
