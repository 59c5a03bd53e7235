"""Supervises the root: the fork server restarts it by the rules that a supervisor applies to its children."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

from ..backoff import Backoff, Rng
from ..process_messages import Exited, gave_up, never_ran
from ..spec import Policy
from ..supervisor.intensity import Intensity
from ..supervisor.transitions import FORK_RETRY_SECONDS


class RootSupervision:
    """Counts the root's failures and decides. It performs nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rng: Rng = random.random) -> None:
        self._clock, self._rng = clock, rng
        self._backoff, self._restarts = Backoff(), Intensity()

    def failed(self, exited: Exited, policy: Policy) -> float | str:
        """Seconds to wait before the root is started again, or why the agent gives up.

        A root that has given up is a failure like others: a restart of everything can mend what restarts of parts
        do not.
        """
        if not _killed_from_outside(exited) and not never_ran(exited):
            self._restarts, within = self._restarts.add(self._clock(), policy.max_restarts, policy.period_seconds)
            if not within:
                last = f": {exited.detail}" if gave_up(exited) else ""
                return f"the root failed more than {policy.max_restarts} times in {policy.period_seconds:g} s{last}"
        self._backoff = self._backoff.failed(policy.backoff, exited.uptime)
        pause = self._backoff.pause(policy.backoff, self._rng)
        return min(pause, FORK_RETRY_SECONDS) if never_ran(exited) else pause


def _killed_from_outside(exited: Exited) -> bool:
    """Whether an operator or the kernel sent the SIGKILL, not the agent. Then the root is not at fault, and the agent
    goes on."""
    return exited.cause == "signal" and os.WIFSIGNALED(exited.status) and os.WTERMSIG(exited.status) == signal.SIGKILL
