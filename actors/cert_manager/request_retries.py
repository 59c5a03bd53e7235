"""The pauses between attempts to get a certificate signed. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from supervision.backoff import Backoff, BackoffPolicy, Rng

ERRORS: Final = BackoffPolicy(first=2.0, maximum=32.0, jitter=0.0, free=0)
REFUSALS: Final = BackoffPolicy(first=30.0, maximum=900.0, jitter=0.0, free=0)
"""After each denial the next request waits longer, so that requests do not pile up for the administrator."""
JITTER: Final = 0.1
"""The largest random share that is added to a pause."""
UNREACHABLE_SECONDS, UNREACHABLE_JITTER, UNREACHABLE_TRIES = 2.0, 0.2, 27
"""A server that does not answer is retried every 2 s (plus jitter) for a minute, then as after other errors."""
SHORTEST_USE_SECONDS: Final = 10.0
POLL_SECONDS, POLLS, SLOW_POLL_SECONDS = 2.0, 30, 15.0
"""Pauses while the request is pending: the short one for so many attempts, then the longer one."""
REPORT_SECONDS: Final = 15 * 60.0
"""How often a request that stays pending is reported again, as a warning."""


class FailureKind(StrEnum):
    """Why an attempt failed."""

    UNREACHABLE = "away"
    """The server did not answer."""
    ERROR = "error"
    """The server answered with an error, or an operation of this node failed."""
    REFUSED = "refused"
    """The request was denied, or could not be signed."""


class Failures(msgspec.Struct, frozen=True):
    """The failures since the last success: consecutive ones of the last kind, and all refusals."""

    last: FailureKind | None = None
    consecutive: int = 0
    refused: int = 0

    def after(self, kind: FailureKind) -> Failures:
        again = self.consecutive + 1 if kind is self.last else 1
        return Failures(kind, again, self.refused + (kind is FailureKind.REFUSED))

    def pause(self, rng: Rng, retry_after: float = 0.0) -> float:
        """Seconds until the next attempt; at least the server's `retry_after`, up to a limit."""
        return max(self._own_pause(rng), min(retry_after, REFUSALS.maximum))

    def _own_pause(self, rng: Rng) -> float:
        if self.last is None:
            return 0.0
        if self.last is FailureKind.UNREACHABLE and self.consecutive <= UNREACHABLE_TRIES:
            return UNREACHABLE_SECONDS * (1 + UNREACHABLE_JITTER * rng())
        refused = self.last is FailureKind.REFUSED
        base = Backoff(self.refused).base(REFUSALS) if refused else Backoff(self.consecutive).base(ERRORS)
        return base * (1 + JITTER * rng())


class PendingReports(msgspec.Struct, frozen=True):
    """Counts the attempts at which the current request was pending, and knows when this was last reported."""

    attempts: int = 0
    reported_at: float = 0.0

    def after_attempt(self, now: float, *, new: bool) -> tuple[PendingReports, str]:
        """The value after one more attempt that found the request pending, and the level to report it at: `info`,
        `warning` or ''. `new`: the request is a new one."""
        attempts = 1 if new else self.attempts + 1
        if attempts == 1:
            return PendingReports(1, now), "info"
        if now - self.reported_at >= REPORT_SECONDS:
            return PendingReports(attempts, now), "warning"
        return PendingReports(attempts, self.reported_at), ""

    @property
    def pause(self) -> float:
        """Seconds until the next attempt, even if the server refuses the watch."""
        return POLL_SECONDS if self.attempts <= POLLS else SLOW_POLL_SECONDS


def pause_before_rotation(pause: float, left: float) -> float:
    """How long to use a certificate that is due for rotation at once, because its life is short or a clock is wrong:
    long enough not to flood the cluster with requests, but at most half of the seconds that are `left`."""
    return pause if left <= 0 else max(SHORTEST_USE_SECONDS, min(pause, left / 2))
