"""Pauses that grow while something keeps failing. Pure: the caller says how long it was well; the rng is passed in.

The supervisors pause between restarts with it, the node agent between tries of its own (0 s, 10 s, 20 s ... 300 s).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Rng = Callable[[], float]
"""Gives a number from 0 to less than 1, as random.random does."""


class BackoffPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How the pauses grow, in seconds."""

    first: float = 0.5
    """The first pause that is not zero."""
    maximum: float = 30.0
    factor: float = 2.0
    jitter: float = 0.2
    """Largest share of a pause that is taken off at random, so that many who failed together do not return together."""
    reset_after: float = 10.0
    """Having been well for so long makes the next failure the first one again."""
    free: int = 1
    """So many consecutive failures cost no pause."""


class Backoff(msgspec.Struct, frozen=True):
    """Where one thing stands: its consecutive failures."""

    failures: int = 0

    def failed(self, policy: BackoffPolicy, well_for: float = 0.0) -> Backoff:
        """After one more failure, before which it had been well for `well_for` seconds."""
        return Backoff(1 if well_for >= policy.reset_after else self.failures + 1)

    def base(self, policy: BackoffPolicy) -> float:
        """The pause before jitter."""
        steps = self.failures - policy.free - 1
        if steps < 0:
            return 0.0
        try:
            return min(policy.maximum, policy.first * policy.factor**steps)
        except OverflowError:
            return policy.maximum

    def pause(self, policy: BackoffPolicy, rng: Rng) -> float:
        """Seconds to wait before the next try; never more than the policy's maximum."""
        return self.base(policy) * (1.0 - policy.jitter * rng())
