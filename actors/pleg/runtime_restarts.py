"""Restarts of a runtime that does not list containers which run. Pure.

containerd that came up on a full disk lists them after its next start. Where a restart does not help, because
containerd has lost its data of them, the pauses between restarts grow.
"""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.backoff import RetrySchedule

PAUSES: Final = RetrySchedule(first=20.0, limit=1200.0)


class RuntimeRestarts(msgspec.Struct, frozen=True):
    """The restarts so far."""

    count: int = 0
    """The number of restarts in a row."""
    not_before: float = 0.0
    """The next one, on the monotonic clock."""


def record_case(state: RuntimeRestarts, now: float, *, restarts: bool) -> RuntimeRestarts:
    """The state after a look that found unlisted containers, or the pod network's configuration unread. `restarts`: the
    runtime is restarted for it. After `limit` without such a look the pauses are short again."""
    before = 0 if now - state.not_before >= PAUSES.limit else state.count
    count = before + 1 if restarts else before
    return RuntimeRestarts(count, now + PAUSES.pause(max(1, count)))
