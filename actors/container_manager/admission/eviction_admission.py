"""Refuses pods because of pressure conditions, or because they are evicted."""

from __future__ import annotations

import asyncio
from typing import Final

from supervision.actor import Actor

from ..messages import NodeEvictions

HOLD_SECONDS: Final = 2.0
"""The longest time that a new pod waits for the eviction manager's report."""


class EvictionAdmission:
    """The last report of the eviction manager. In a standalone agent every pod is critical and does not wait."""

    def __init__(self, actor: Actor, *, standalone: bool) -> None:
        self._actor, self._standalone = actor, standalone
        self._reported = asyncio.Event()
        self._report = NodeEvictions([])

    def start(self) -> None:
        if self._standalone:
            self._reported.set()
        else:
            self._actor.after(HOLD_SECONDS, self._reported.set)

    def update(self, message: NodeEvictions) -> None:
        self._report = message
        self._reported.set()

    async def wait_for_report(self) -> None:
        """Wait for the eviction manager's report, at most HOLD_SECONDS."""
        await self._reported.wait()

    @property
    def conditions(self) -> frozenset[str]:
        """The conditions that are true."""
        return frozenset(self._report.conditions)

    def is_ending(self, uid: str) -> bool:
        """Whether this pod is evicted. A restarted worker may ask again about such a pod."""
        return uid in self._report.ending
