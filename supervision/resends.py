"""When an actor sends its whole state again to a receiver that missed messages. Pure: the time is passed in."""

from __future__ import annotations

from typing import Final

RESEND_SECONDS: Final = 5.0
"""From a lost message to the whole state: a receiver that is too slow for single messages gets room first."""
MOST_RESEND_SECONDS: Final = 60.0
"""While the whole state does not arrive either, each pause is twice the last one, up to this: it is the larger load."""


class Resends:
    """By receiver: what is due, and the last pause."""

    def __init__(self) -> None:
        self._due: set[str] = set()
        self._pauses: dict[str, float] = {}
        self._sent_at: dict[str, float] = {}

    def lost(self, name: str, now: float) -> float | None:
        """A message to `name` was lost: seconds until it gets the whole state; None: that is due already."""
        if name in self._due:
            return None
        self._due.add(name)
        again = name in self._sent_at and now - self._sent_at[name] < MOST_RESEND_SECONDS
        pause = min(2 * self._pauses[name], MOST_RESEND_SECONDS) if again else RESEND_SECONDS
        self._pauses[name] = pause
        return pause

    def sent(self, name: str, now: float) -> None:
        self._due.discard(name)
        self._sent_at[name] = now
