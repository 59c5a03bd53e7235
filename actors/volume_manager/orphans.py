"""Which pod directories are orphans: no worker knows the pod. Pure.

Nothing is an orphan before every worker has told its pods, and only what stays unknown for a while is one: a pod that
is just being started may have its directory before its worker has told of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.pod_workers.messages import worker_of

GRACE_SECONDS = 10.0


class KnownPodsOfWorkers(msgspec.Struct, frozen=True):
    """What the workers have told so far."""

    workers: int = 0
    pods: dict[str, frozenset[str]] = {}
    """UIDs by the worker that told them."""
    asked: frozenset[str] = frozenset()
    """Pods that something was asked for since their own worker told: it need not have told of them yet."""

    def reported(self, worker: str, workers: int, uids: Iterable[str]) -> KnownPodsOfWorkers:
        """After one more KnownPods."""
        asked = frozenset(uid for uid in self.asked if worker_of(uid, workers) != worker)
        return KnownPodsOfWorkers(workers, {**self.pods, worker: frozenset(uids)}, asked)

    def wanted(self, uid: str) -> KnownPodsOfWorkers:
        """After a worker asked for something for the pod."""
        return KnownPodsOfWorkers(self.workers, self.pods, self.asked | {uid})

    @property
    def complete(self) -> bool:
        return 0 < self.workers <= len(self.pods)

    def has(self, uid: str) -> bool:
        return any(uid in uids for uids in self.pods.values())

    def may_have(self, uid: str) -> bool:
        """Whether a worker has the pod, or asked for it and has not told since: one that died may have asked for a pod
        that its next incarnation does not have."""
        return uid in self.asked or self.has(uid)


def look(
    unknown_since: dict[str, float], present: Iterable[str], known: KnownPodsOfWorkers, now: float
) -> dict[str, float]:
    """Since when each directory has been unknown to every worker; none while a worker has not told."""
    if not known.complete:
        return {}
    return {uid: unknown_since.get(uid, now) for uid in present if not known.may_have(uid)}


def due(unknown_since: dict[str, float], now: float) -> list[str]:
    """Those that may be removed."""
    return sorted(uid for uid, since in unknown_since.items() if now - since >= GRACE_SECONDS)
