"""The client's own limit of requests (client-go's flow control: a token bucket)."""

from __future__ import annotations


class TokenBucket:
    """`qps` tokens a second, at most `burst` saved up. 0 or less: no limit."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps, self._burst = qps, float(max(burst, 1))
        self._tokens, self._at = self._burst, float("-inf")

    def reserve(self, now: float) -> float:
        """Take a token; how many seconds from `now` it may be used."""
        if self._qps <= 0:
            return 0.0
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._qps)
        self._at = max(self._at, now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def give_back(self) -> None:
        """The token is not used after all."""
        self._tokens = min(self._burst, self._tokens + 1)
