"""The bounded queue of ended spans. When it is full, new spans are dropped and counted."""

from __future__ import annotations

from collections import deque
from typing import Final

from .span import Span

MAX_SPANS: Final = 2048
BATCH_SPANS: Final = 512
"""Both are the defaults of OpenTelemetry's batch processor."""


class SpanQueue:
    """Oldest first."""

    def __init__(self, limit: int = MAX_SPANS) -> None:
        self._limit = limit
        self._spans: deque[Span] = deque()
        self.dropped = 0
        """Since the last `take_dropped`."""

    def __len__(self) -> int:
        return len(self._spans)

    def add(self, span: Span) -> None:
        if len(self._spans) >= self._limit:
            self.dropped += 1
        else:
            self._spans.append(span)

    def take(self, limit: int = BATCH_SPANS) -> list[Span]:
        """Remove and return the oldest."""
        return [self._spans.popleft() for _ in range(min(limit, len(self._spans)))]

    def take_dropped(self) -> int:
        found, self.dropped = self.dropped, 0
        return found
