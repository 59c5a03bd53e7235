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
        self._first: set[str] | None = None

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
        pods = set(self._inventory.uids()).difference(holding)
        self._first = pods if self._first is None else self._first & pods
        return {uid for uid in holding if uid not in self._inventory and uid not in self._unreported}

    @property
    def first_are_gone(self) -> bool:
        """Whether none is left of the pods that were on the node when the workers had reported first, but for those
        whose devices are known."""
        return self._first is not None and not self._first
