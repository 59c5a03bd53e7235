"""The pod inventory: which pods the workers have, as they tell with KnownPods. Pure."""

from __future__ import annotations

from collections.abc import Iterable


class PodInventory:
    """UIDs by worker."""

    def __init__(self) -> None:
        self._uids: dict[str, frozenset[str]] = {}
        self._workers = 0

    def update(self, worker: str, workers: int, uids: Iterable[str]) -> frozenset[str]:
        """Take in what one of so many workers has. Returns the pods that no worker has any more."""
        before = self._uids.get(worker, frozenset())
        self._uids[worker], self._workers = frozenset(uids), workers
        return frozenset(uid for uid in before if uid not in self)

    def __contains__(self, uid: str) -> bool:
        return any(uid in uids for uids in self._uids.values())

    @property
    def complete(self) -> bool:
        """Whether every worker has told."""
        return 0 < self._workers <= len(self._uids)
