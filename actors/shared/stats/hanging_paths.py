"""Reads figures of many paths, some of which may hang: in one disposable process for all paths or, if that one does not
answer, in one for each path. A path that hangs is logged once and is tried again after growing pauses. The other paths
keep their figures."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from supervision.actor import DisposableTimeout
from supervision.backoff import RetrySchedule

Disposable = Callable[[str, dict[str, Any], float], Awaitable[Any]]
ALONE_SECONDS: Final = 5.0
RETRIES: Final = RetrySchedule(first=60.0, limit=600.0)


class HangingPaths:
    """The paths that do not answer. `clock`: seconds, monotonic."""

    def __init__(
        self, disposable: Disposable, log: logging.Logger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._disposable, self._log, self._clock = disposable, log, clock
        self._tries: dict[str, int] = {}
        """The number of failed tries, by path that hangs."""
        self._retry_at: dict[str, float] = {}

    async def ask(self, function: str, paths: Collection[str], seconds: float) -> dict[str, Any]:
        """The answers of `function`, which takes `paths` and answers by path, without the paths that hang.

        Raises DisposableError for any other failure.
        """
        for gone in self._tries.keys() - set(paths):
            self._forget(gone)
        alone = [path for path in paths if path in self._tries and self._retry_at[path] <= self._clock()]
        together = [path for path in paths if path not in self._tries]
        found: dict[str, Any] = {}
        if together:
            try:
                found = await self._disposable(function, {"paths": together}, seconds)
            except DisposableTimeout:
                alone += together
        answers = await asyncio.gather(*(self._ask_alone(function, path) for path in alone))
        return {path: figures for one in (found, *answers) for path, figures in one.items()}

    async def _ask_alone(self, function: str, path: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._disposable(function, {"paths": [path]}, ALONE_SECONDS)
        except DisposableTimeout:
            tries = self._tries[path] = self._tries.get(path, 0) + 1
            self._retry_at[path] = self._clock() + RETRIES.pause(tries)
            if tries == 1:
                self._log.warning("%s hangs: it has no figures until it answers again", path)
            return {}
        if path in self._tries:
            self._forget(path)
            self._log.info("%s answers again", path)
        return found

    def _forget(self, path: str) -> None:
        del self._tries[path], self._retry_at[path]
