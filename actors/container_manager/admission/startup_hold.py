"""Delays new pods after a start until the running pods are counted."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.shared.pod_inventory import PodInventory
from supervision.actor import Actor

from .ledger import Ledger

HOLD_SECONDS: Final = 1.0
"""The longest time that new pods wait for the workers' reports."""


class StartupHold:
    """The hold ends when every pod with a cgroup at the start is counted, when every worker has reported its pods, or
    when the time is up."""

    def __init__(self, actor: Actor, ledger: Ledger, inventory: PodInventory) -> None:
        self._actor, self._ledger, self._inventory = actor, ledger, inventory
        self._expected: frozenset[str] | None = None
        self._released = asyncio.Event()

    def start(self, expected: frozenset[str]) -> None:
        """`expected`: the pods that have cgroups. Called again when another driver's cgroups are found."""
        first, self._expected = self._expected is None, expected
        if first:
            self._actor.after(HOLD_SECONDS, self._released.set)
        self.update()

    def update(self, not_running: str = "") -> None:
        """The ledger or the inventory has changed. `not_running`: a pod that need not be waited for."""
        if self._expected is None:
            return
        self._expected -= {not_running}
        if self._inventory.complete or all(uid in self._ledger for uid in self._expected):
            self._released.set()

    async def wait(self) -> None:
        await self._released.wait()
