"""Supervises the root: the fork server restarts it by the rules that a supervisor applies to its children."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from ..backoff import Backoff, Rng
from ..process_messages import Exited, gave_up, never_ran
from ..spec import Policy
from ..supervisor.intensity import Intensity
from ..supervisor.transitions import FORK_RETRY_SECONDS


class StartAgain(NamedTuple):
    """The root is started again after this pause."""

    seconds: float


class GiveUp(NamedTuple):
    """The agent ends."""

    reason: str


class RootSupervision:
    """Counts the root's failures and decides. It performs nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rng: Rng = random.random) -> None:
        self._clock, self._rng = clock, rng
        self._backoff, self._restarts = Backoff(), Intensity()

    def failed(self, exited: Exited, policy: Policy) -> StartAgain | GiveUp:
        """What follows from this end of the root.

        A root that has given up is a failure like others: a restart of everything can mend what restarts of parts
        do not.
        """
        if not _killed_from_outside(exited) and not never_ran(exited):
            self._restarts, within = self._restarts.add(self._clock(), policy.max_restarts, policy.period_seconds)
            if not within:
                last = f": {exited.detail}" if gave_up(exited) else ""
                period = f"{policy.period_seconds:g} s"
                return GiveUp(f"the root failed more than {policy.max_restarts} times in {period}{last}")
        self._backoff = self._backoff.failed(policy.backoff, exited.uptime)
        pause = self._backoff.pause(policy.backoff, self._rng)
        return StartAgain(min(pause, FORK_RETRY_SECONDS) if never_ran(exited) else pause)


def _killed_from_outside(exited: Exited) -> bool:
    """Whether an operator or the kernel sent the SIGKILL, not the agent. Then the root is not at fault, and the agent
    goes on."""
    return exited.cause == "signal" and os.WIFSIGNALED(exited.status) and os.WTERMSIG(exited.status) == signal.SIGKILL
