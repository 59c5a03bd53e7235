"""The token bucket: a rate limit with a burst. Pure: the time is passed in."""

from __future__ import annotations


class TokenBucket:
    """Full at first. `rate`: tokens a second, 0 or less for no limit; `burst`: the most tokens that are saved up, at
    least one. Times are seconds of one monotonic clock."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(max(burst, 1))
        self._tokens, self._at = self._burst, float("-inf")

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        if self._rate <= 0:
            return True
        self._refill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self, now: float) -> float:
        """Take a token in advance. Returns the seconds from `now` until it may be used."""
        if self._rate <= 0:
            return 0.0
        self._refill(now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def give_back(self) -> None:
        """Return an unused token."""
        self._tokens = min(self._burst, self._tokens + 1)

    def _refill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._rate)
        self._at = max(self._at, now)
