"""The pod inventory: the pods of all shards, from their ShardPods. Pure."""

from __future__ import annotations

from collections.abc import Iterable


class PodInventory:
    """UIDs by worker."""

    def __init__(self) -> None:
        self._uids: dict[str, frozenset[str]] = {}
        self._workers = 0

    def update(self, worker: str, workers: int, uids: Iterable[str]) -> frozenset[str]:
        """Set the pods of one of `workers` workers. Returns the pods that no worker has now."""
        before = self._uids.get(worker, frozenset())
        self._uids[worker], self._workers = frozenset(uids), workers
        return frozenset(uid for uid in before if uid not in self)

    def __contains__(self, uid: str) -> bool:
        return any(uid in uids for uids in self._uids.values())

    def uids(self) -> list[str]:
        """The pods of all workers, sorted."""
        return sorted(frozenset().union(*self._uids.values()))

    @property
    def complete(self) -> bool:
        """Whether every worker has reported."""
        return 0 < self._workers <= len(self._uids)
