"""When a certificate is due for another, and how long to wait after a try that failed. Pure.

The wall clock may jump, so nothing is counted down: the owner asks again with the time as it is, every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from .certificate import Certificate

EARLIEST, SPREAD = 0.7, 0.2
"""Rotation is due at 70 to 90 % of a certificate's life, as in the reference."""
FIRST_SECONDS, FACTOR, LONGEST_SECONDS, JITTER = 2.0, 2.0, 32.0, 0.1
SERVER_SECONDS, SERVER_JITTER, SERVER_TRIES = 2.0, 0.2, 27
"""A server that does not answer is tried every 2 s (and a part at random), for a minute; then as after other errors."""
SHORTEST_SECONDS = 10.0
REFUSED_SECONDS, REFUSED_LONGEST = 30.0, 900.0
"""After a request was denied each new one waits longer: they would pile up in front of an administrator."""


class Trouble(StrEnum):
    """Why a try came to nothing."""

    AWAY = "away"
    """The server did not answer."""
    ERROR = "error"
    """It answered with an error, or something failed here."""
    REFUSED = "refused"
    """The request was denied, or could not be signed."""


class Tries(msgspec.Struct, frozen=True):
    """What failed since the last success: in a row of one kind, and refusals altogether."""

    last: Trouble | None = None
    in_a_row: int = 0
    refused: int = 0

    def after(self, trouble: Trouble) -> Tries:
        again = self.in_a_row + 1 if trouble is self.last else 1
        return Tries(trouble, again, self.refused + (trouble is Trouble.REFUSED))

    def pause(self, rng: Callable[[], float], retry_after: float = 0.0) -> float:
        """Seconds until the next try; not before the server's own `retry_after`."""
        return max(self._own_pause(rng), min(retry_after, REFUSED_LONGEST))

    def _own_pause(self, rng: Callable[[], float]) -> float:
        if self.last is None:
            return 0.0
        if self.last is Trouble.REFUSED:
            return _grown(REFUSED_SECONDS, self.refused, REFUSED_LONGEST) * (1 + JITTER * rng())
        if self.last is Trouble.AWAY and self.in_a_row <= SERVER_TRIES:
            return SERVER_SECONDS * (1 + SERVER_JITTER * rng())
        return _grown(FIRST_SECONDS, self.in_a_row, LONGEST_SECONDS) * (1 + JITTER * rng())


def _grown(first: float, count: int, longest: float) -> float:
    return min(longest, first * FACTOR ** min(count - 1, 30))


def useful_pause(pause: float, left: float) -> float:
    """How long to use a certificate that is due for another from the first, as it lives for too short or a clock is
    wrong: so long that requests do not flood the cluster, but while half of its life is `left` (seconds)."""
    return pause if left <= 0 else max(SHORTEST_SECONDS, min(pause, left / 2))


def due_at(certificate: Certificate) -> float:
    """When to rotate it, seconds since 1970: at random, but by the certificate itself, so a restart changes nothing."""
    share = int(certificate.fingerprint[:8] or "0", 16) / 2**32
    return certificate.not_before + certificate.lifetime * (EARLIEST + SPREAD * share)


def is_due(certificate: Certificate, now: float) -> bool:
    return now >= due_at(certificate)


def ended(certificate: Certificate, now: float) -> bool:
    """One that is not valid yet has not ended: that clock is wrong, and the server's counts."""
    return now > certificate.not_after
