"""The recent message rates by sender, receiver and type, from successive counts of all actors. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from supervision.protocol import MessageCount, MessageFlowCounts

WINDOW_SECONDS: Final = 10.0
"""Rates are of the last seconds."""


class MessageEdge(msgspec.Struct, frozen=True):
    """The messages of one type from one actor to another."""

    sender: str
    receiver: str
    message: str
    count: int
    """Since the receiver's start."""
    rate: float
    """A second, lately."""


class MessageRates:
    """Remembers the counts of the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, dict[str, MessageFlowCounts]]] = deque()

    def add(self, counts: Sequence[MessageFlowCounts], now: float) -> list[MessageEdge]:
        """The current edges. `now`: seconds, monotonic. An incarnation has rates from its second sample on."""
        newest = {one.actor: one for one in counts}
        while len(self._samples) > 1 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()
        edges = [edge for one in counts for edge in self._edges(one, now)]
        self._samples.append((now, newest))
        return edges

    def _edges(self, of: MessageFlowCounts, now: float) -> list[MessageEdge]:
        at, before = self._oldest(of) or (now, {})
        seconds = now - at

        def rate(one: MessageCount) -> float:
            return (one.count - before.get((one.sender, one.message), 0)) / seconds if seconds > 0 else 0.0

        return [MessageEdge(one.sender, of.actor, one.message, one.count, rate(one)) for one in of.counts]

    def _oldest(self, of: MessageFlowCounts) -> tuple[float, dict[tuple[str, str], int]] | None:
        """The time and the counts of the first sample that has this incarnation."""
        for at, counts in self._samples:
            found = counts.get(of.actor)
            if found is not None and found.incarnation == of.incarnation:
                return at, {(one.sender, one.message): one.count for one in found.counts}
        return None
