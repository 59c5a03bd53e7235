"""Whose devices are nobody's: those of pods that no worker has any more. Pure."""

from __future__ import annotations

from collections.abc import Collection

from actors.shared.pod_inventory import PodInventory


class Holders:
    """The pods that may hold devices: those that the workers have, and those that were allocated devices since, and
    that their worker has not reported yet."""

    def __init__(self) -> None:
        self._inventory = PodInventory()
        self._new: set[str] = set()

    def allocated(self, uid: str) -> None:
        if uid not in self._inventory:
            self._new.add(uid)

    def released(self, uid: str) -> None:
        self._new.discard(uid)

    def gone(self, worker: str, workers: int, uids: Collection[str], holding: Collection[str]) -> set[str]:
        """Of the pods that hold devices, those that no worker has. `uids`: those of one of `workers` workers."""
        self._inventory.update(worker, workers, uids)
        self._new.difference_update(uids)
        if not self._inventory.complete:
            return set()
        return {uid for uid in holding if uid not in self._inventory and uid not in self._new}
