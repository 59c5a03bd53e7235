"""Whether the disk of the containers' logs answers: asked before a log is read. A read that hangs would hold the
server, which has commands and streams to serve, until the disk answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from actors.shared.stats.hanging_paths import Disposable
from supervision.errors import DisposableError, DisposableTimeout
from supervision.hanging_disks import ANSWER_SECONDS, HANGS
from supervision.time_scale import scaled

from .log_file import LogFile
from .log_opener import LogUnavailable

RECENT_SECONDS: Final = 2.0
"""How long an answer is good."""
_READ: Final = "actors.http_servers.container_logs.log_opener:read_beginning"


class LogDisk:
    """`clock`: seconds, monotonic."""

    def __init__(self, disposable: Disposable, clock: Callable[[], float] = time.monotonic) -> None:
        self._disposable, self._clock = disposable, clock
        self._answered_at = float("-inf")

    async def require_answer(self, directory: str, log: LogFile) -> None:
        """Raises LogUnavailable if the disk hangs."""
        if self._clock() - self._answered_at < RECENT_SECONDS:
            return
        arguments = {"directory": directory, "relative": log.path, "container_id": log.container_id}
        try:
            await self._disposable(_READ, arguments, scaled(ANSWER_SECONDS))
        except DisposableTimeout:
            raise LogUnavailable(f"{directory}: {HANGS}") from None
        except DisposableError:
            pass  # no process can be made, which says nothing of the disk
        self._answered_at = self._clock()
