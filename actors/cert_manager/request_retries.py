"""How long to wait between attempts to have a certificate signed. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from supervision.backoff import Backoff, BackoffPolicy, Rng

ERRORS: Final = BackoffPolicy(first=2.0, maximum=32.0, jitter=0.0, free=0)
REFUSALS: Final = BackoffPolicy(first=30.0, maximum=900.0, jitter=0.0, free=0)
"""After a denial each new request waits longer: they would pile up in front of an administrator."""
JITTER: Final = 0.1
"""Largest share of a pause that is added at random."""
AWAY_SECONDS, AWAY_JITTER, AWAY_TRIES = 2.0, 0.2, 27
"""A server that does not answer is tried every 2 s (and a part at random), for a minute; then as after other errors."""
SHORTEST_USE_SECONDS: Final = 10.0
POLL_SECONDS, POLLS, SLOW_POLL_SECONDS = 2.0, 30, 15.0
"""Between attempts that find the request pending; the longer one after so many."""
REPORT_SECONDS: Final = 15 * 60.0
"""A request that stays pending is reported again each time, as a warning."""


class Trouble(StrEnum):
    """Why an attempt failed."""

    AWAY = "away"
    """The server did not answer."""
    ERROR = "error"
    """It answered with an error, or something failed here."""
    REFUSED = "refused"
    """The request was denied, or could not be signed."""


class Failures(msgspec.Struct, frozen=True):
    """What failed since the last success: consecutive failures of one kind, and refusals altogether."""

    last: Trouble | None = None
    consecutive: int = 0
    refused: int = 0

    def after(self, trouble: Trouble) -> Failures:
        again = self.consecutive + 1 if trouble is self.last else 1
        return Failures(trouble, again, self.refused + (trouble is Trouble.REFUSED))

    def pause(self, rng: Rng, retry_after: float = 0.0) -> float:
        """Seconds until the next attempt; not before the server's own `retry_after`, within reason."""
        return max(self._own_pause(rng), min(retry_after, REFUSALS.maximum))

    def _own_pause(self, rng: Rng) -> float:
        if self.last is None:
            return 0.0
        if self.last is Trouble.AWAY and self.consecutive <= AWAY_TRIES:
            return AWAY_SECONDS * (1 + AWAY_JITTER * rng())
        refused = self.last is Trouble.REFUSED
        base = Backoff(self.refused).base(REFUSALS) if refused else Backoff(self.consecutive).base(ERRORS)
        return base * (1 + JITTER * rng())


class Waiting(msgspec.Struct, frozen=True):
    """For how many attempts the present request has been pending, and when that was reported last."""

    attempts: int = 0
    reported_at: float = 0.0

    def again(self, now: float, *, new: bool) -> tuple[Waiting, str]:
        """After one more attempt that found the request pending, and how to report it: `info`, `warning` or ''.
        `new`: it is another request than before."""
        attempts = 1 if new else self.attempts + 1
        if attempts == 1:
            return Waiting(1, now), "info"
        if now - self.reported_at >= REPORT_SECONDS:
            return Waiting(attempts, now), "warning"
        return Waiting(attempts, self.reported_at), ""

    @property
    def pause(self) -> float:
        """Seconds until the next attempt, also where a watch is refused at once."""
        return POLL_SECONDS if self.attempts <= POLLS else SLOW_POLL_SECONDS


def useful_pause(pause: float, left: float) -> float:
    """How long to use a certificate that is due for another from the first, as it lives for too short or a clock is
    wrong: so long that requests do not flood the cluster, but while half of its life is `left` (seconds)."""
    return pause if left <= 0 else max(SHORTEST_USE_SECONDS, min(pause, left / 2))
