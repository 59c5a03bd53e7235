"""Pauses that grow while something keeps failing. Pure: uptime and random numbers are passed in.

Supervisors use it between restarts, the node agent between its retries (0 s, 10 s, 20 s ... 300 s).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Rng = Callable[[], float]
"""Returns a number in [0, 1), as random.random does."""


class RetrySchedule(msgspec.Struct, frozen=True):
    """The pauses between tries of one operation, in seconds: `first`, then `factor` times the previous one, up to
    `limit`. Its caller counts the failures; there is no jitter."""

    first: float
    limit: float
    factor: float = 2.0

    def pause(self, failures: int) -> float:
        """Seconds to wait after so many consecutive failures; 0 after none."""
        if failures <= 0:
            return 0.0
        try:
            return min(self.limit, self.first * self.factor ** (failures - 1))
        except OverflowError:
            return self.limit


class BackoffPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How the pauses of a Backoff grow, in seconds: a RetrySchedule with jitter, free tries and a reset after a time
    without a failure."""

    first: float = 0.5
    """The first pause that is not zero."""
    maximum: float = 30.0
    factor: float = 2.0
    jitter: float = 0.2
    """The largest share of a pause that is subtracted at random, so that operations that failed together are not
    retried together."""
    reset_after: float = 10.0
    """After this long without a failure the next one counts as the first."""
    free: int = 1
    """The number of consecutive failures that are retried without a pause."""


class Backoff(msgspec.Struct, frozen=True):
    """The consecutive failures of one operation."""

    failures: int = 0

    def failed(self, policy: BackoffPolicy, healthy_seconds: float = 0.0) -> Backoff:
        """The backoff after one more failure, which came after `healthy_seconds` seconds without one."""
        return Backoff(1 if healthy_seconds >= policy.reset_after else self.failures + 1)

    def forgiven(self) -> Backoff:
        """The backoff without the last failure."""
        return Backoff(max(0, self.failures - 1))

    def base(self, policy: BackoffPolicy) -> float:
        """The pause before jitter."""
        return RetrySchedule(policy.first, policy.maximum, policy.factor).pause(self.failures - policy.free)

    def pause(self, policy: BackoffPolicy, rng: Rng) -> float:
        """Seconds to wait before the next try; never more than the policy's maximum."""
        return self.base(policy) * (1.0 - policy.jitter * rng())
