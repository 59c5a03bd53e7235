"""Starts that never end inside the runtime: their containers can be neither started nor removed. Pure.

containerd gives up on a start within a minute of its caller. What lasts longer ends only with containerd's process; the
containers live on under their shims.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

HANGS_SECONDS: Final = 120.0
"""Seconds that a start may block a call before the runtime is restarted."""
PAUSE_SECONDS: Final = 600.0
"""The least time between two restarts of the runtime."""


class HangingStarts(msgspec.Struct, frozen=True):
    """Times are of the monotonic clock."""

    since: Mapping[str, float] = {}
    """Container id to the time at which its start was first found to block a call."""
    restarted_at: float | None = None


def start_found(state: HangingStarts, container_id: str, now: float, known: Collection[str]) -> HangingStarts:
    """The state after a start was found to block a call. `known`: the ids that the runtime lists; others are
    forgotten."""
    since = {one: at for one, at in state.since.items() if one in known}
    since.setdefault(container_id, now)
    return msgspec.structs.replace(state, since=since)


def overdue(state: HangingStarts, container_id: str, now: float) -> bool:
    """Whether this start is the reason to restart the runtime now."""
    is_over = state.restarted_at is None or now - state.restarted_at >= PAUSE_SECONDS
    return is_over and now - state.since.get(container_id, now) >= HANGS_SECONDS


def runtime_restarted(now: float) -> HangingStarts:
    """The runtime is being restarted."""
    return HangingStarts(restarted_at=now)
