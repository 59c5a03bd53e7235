"""Which pod directories are orphans: no worker has the pod. Pure.

Nothing is an orphan before every worker has reported its pods. A directory is removed after a grace period: a pod that
starts may have its directory before its worker reports it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.pod_workers.messages import worker_of

GRACE_SECONDS = 10.0


class ReportedPods(msgspec.Struct, frozen=True):
    """The pods of all workers, from their KnownPods and their orders."""

    workers: int = 0
    by_worker: dict[str, frozenset[str]] = {}
    """UIDs by the worker that reported them."""
    ordered: frozenset[str] = frozenset()
    """Pods with an order since their worker's last report, which need not include them."""

    def with_report(self, worker: str, workers: int, uids: Iterable[str]) -> ReportedPods:
        """With the KnownPods of one of `workers` workers."""
        ordered = frozenset(uid for uid in self.ordered if worker_of(uid, workers) != worker)
        return ReportedPods(workers, {**self.by_worker, worker: frozenset(uids)}, ordered)

    def with_order(self, uid: str) -> ReportedPods:
        """With an order from a worker for the pod."""
        return ReportedPods(self.workers, self.by_worker, self.ordered | {uid})

    @property
    def complete(self) -> bool:
        """Whether every worker has reported."""
        return 0 < self.workers <= len(self.by_worker)

    def __contains__(self, uid: str) -> bool:
        """Whether a worker reported the pod, or sent an order for it since its last report. The order may be of a
        worker that died, whose next incarnation does not have the pod; its report then says so."""
        return uid in self.ordered or any(uid in uids for uids in self.by_worker.values())


def find_orphans(
    before: dict[str, float], directories: Iterable[str], reported: ReportedPods, now: float
) -> dict[str, float]:
    """Since when each directory has been an orphan; none before every worker has reported.

    `before`: the last result; `directories`: the UIDs of the pods with a directory.
    """
    if not reported.complete:
        return {}
    return {uid: before.get(uid, now) for uid in directories if uid not in reported}


def removable(orphans: dict[str, float], now: float) -> list[str]:
    """The orphans whose grace period is over."""
    return sorted(uid for uid, since in orphans.items() if now - since >= GRACE_SECONDS)
