"""So many calls a second and no more: what holds a busy client off."""

from __future__ import annotations

from collections.abc import Callable


class TokenBucket:
    """Full at first; `rate` tokens a second flow in, `burst` are the most it holds. `clock`: seconds, monotonic."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._at = float(burst), clock()

    def take(self) -> bool:
        """Take one token. False when there is none."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
