"""The pods that still have devices although no worker has them. Pure."""

from __future__ import annotations

from collections.abc import Collection

from actors.shared.pod_inventory import PodInventory


class DeviceHolders:
    """The pods that may have devices: the pods of the workers, and pods that got devices since but that their worker
    has not reported yet."""

    def __init__(self) -> None:
        self._inventory = PodInventory()
        self._unreported: set[str] = set()

    def allocated(self, uid: str) -> None:
        if uid not in self._inventory:
            self._unreported.add(uid)

    def released(self, uid: str) -> None:
        self._unreported.discard(uid)

    def find_unknown(self, worker: str, workers: int, uids: Collection[str], holding: Collection[str]) -> set[str]:
        """The pods that have devices although no worker has them. `uids`: the pods of one of `workers` workers."""
        self._inventory.update(worker, workers, uids)
        self._unreported.difference_update(uids)
        if not self._inventory.complete:
            return set()
        return {uid for uid in holding if uid not in self._inventory and uid not in self._unreported}
