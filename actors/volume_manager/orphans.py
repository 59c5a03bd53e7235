"""Which pod directories belong to nobody. Pure.

Nothing is an orphan before every worker has told its pods, and only what stays unknown for a while is one: a pod that
is just being started may have its directory before its worker has told of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

GRACE_SECONDS = 10.0


class Known(msgspec.Struct, frozen=True):
    """What the workers have told so far."""

    workers: int = 0
    pods: dict[str, frozenset[str]] = {}
    """UIDs by the worker that told them."""

    def told(self, worker: str, workers: int, uids: Iterable[str]) -> Known:
        """After one more KnownPods."""
        return Known(workers, {**self.pods, worker: frozenset(uids)})

    @property
    def complete(self) -> bool:
        return 0 < self.workers <= len(self.pods)

    def has(self, uid: str) -> bool:
        return any(uid in uids for uids in self.pods.values())


def look(unknown_since: dict[str, float], present: Iterable[str], known: Known, now: float) -> dict[str, float]:
    """Since when each directory has been unknown to every worker; none while a worker has not told."""
    if not known.complete:
        return {}
    return {uid: unknown_since.get(uid, now) for uid in present if not known.has(uid)}


def due(unknown_since: dict[str, float], now: float) -> list[str]:
    """Those that may be removed."""
    return sorted(uid for uid, since in unknown_since.items() if now - since >= GRACE_SECONDS)
