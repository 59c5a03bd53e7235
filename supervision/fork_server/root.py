"""Supervises the root: the fork server restarts it by the rules that a supervisor applies to its children."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from ..backoff import Backoff, BackoffPolicy, Rng
from ..intensity import Intensity
from ..protocol import Exited, gave_up
from ..spec import Policy


class RootSupervision:
    """Counts the root's failures and decides. It performs nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rng: Rng = random.random) -> None:
        self._clock, self._rng = clock, rng
        self._backoff, self._restarts = Backoff(), Intensity()

    def failed(self, exited: Exited, policy: Policy) -> float | str:
        """Seconds to wait before the root is started again, or why the agent gives up."""
        if gave_up(exited):
            return f"the root supervisor gives up: {exited.detail}"
        self._restarts, within = self._restarts.add(self._clock(), policy.max_restarts, policy.period_seconds)
        if not within:
            return f"the root failed more than {policy.max_restarts} times in {policy.period_seconds:g} s"
        pauses = BackoffPolicy(
            first=policy.backoff_seconds, maximum=policy.backoff_max_seconds, reset_after=policy.backoff_reset_seconds
        )
        self._backoff = self._backoff.failed(pauses, exited.uptime)
        return self._backoff.pause(pauses, self._rng)
