"""Finds orphaned pod directories, whose pod no worker has. Pure.

Nothing is an orphan before every worker has reported its pods. A directory is removed after a grace period: a pod that
starts may have its directory before its worker reports it.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.pod_workers.messages import worker_of
from actors.shared.pod_inventory import PodInventory

GRACE_SECONDS = 10.0


class ReportedPods:
    """The pod inventory, and the pods with an order since their worker's last report, which may lack them."""

    def __init__(self) -> None:
        self._inventory = PodInventory()
        self._ordered: frozenset[str] = frozenset()

    def report(self, worker: str, workers: int, uids: Iterable[str]) -> None:
        """Apply the ShardPods of one of `workers` workers."""
        self._inventory.update(worker, workers, uids)
        self._ordered = frozenset(uid for uid in self._ordered if worker_of(uid, workers) != worker)

    def order(self, uid: str) -> None:
        """A worker has sent an order for the pod."""
        self._ordered |= {uid}

    @property
    def complete(self) -> bool:
        """Whether every worker has reported."""
        return self._inventory.complete

    def __contains__(self, uid: str) -> bool:
        """Whether a worker has reported the pod, or sent an order for it since its last report. If the worker dies and
        its next incarnation does not have the pod, the next report drops it.
        """
        return uid in self._ordered or uid in self._inventory


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
