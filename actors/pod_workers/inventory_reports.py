"""Reports the pod inventory of a shard to its consumers: on change, and to an actor that has started."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from supervision.actor import Actor
from supervision.addresses import ActorName

from .messages import ShardPods


class InventoryReports:
    """The inventory that was reported last."""

    def __init__(
        self,
        actor: Actor,
        shards: int,
        consumers: Sequence[ActorName],
        inventory: Callable[[], Collection[str] | None],
    ) -> None:
        """`shards`: of the node. `inventory`: UIDs; None while it is incomplete, and nothing is reported."""
        self._actor, self._shards, self._consumers, self._inventory = actor, shards, consumers, inventory
        self._reported: list[str] | None = None
        self._is_scheduled = False

    def report(self) -> None:
        """Report the inventory if it has changed."""
        self._is_scheduled = False
        inventory = self._inventory()
        if inventory is None or (uids := sorted(inventory)) == self._reported:
            return
        self._reported = uids
        for name in self._consumers:
            self._actor.tell(name, ShardPods(self._actor.name, self._shards, uids), deadline=30.0)

    def report_soon(self) -> None:
        """Report once for all changes so far, because dozens of pods may come and go together."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._actor.start_task(self._report_scheduled(), "pod inventory")

    def report_to(self, name: ActorName) -> None:
        """An actor has started: report again if it is a consumer."""
        if name in self._consumers:
            self._reported = None
            self.report()

    async def _report_scheduled(self) -> None:
        self.report()
