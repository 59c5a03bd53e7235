"""What keeps pods away because the node is short of something, and which pods may not run because they are evicted."""

from __future__ import annotations

import asyncio
from typing import Final

from supervision.actor import Actor

from .messages import NodeEvictions

HOLD_SECONDS: Final = 2.0
"""The longest that a new pod waits for the eviction manager to tell what the node is short of."""


class EvictionAdmission:
    """What the eviction manager has told. In an agent that stands alone every pod is critical, and waits for
    nothing."""

    def __init__(self, actor: Actor, *, standalone: bool) -> None:
        self._actor, self._standalone = actor, standalone
        self._known = asyncio.Event()
        self._told = NodeEvictions([])

    def begin(self) -> None:
        if self._standalone:
            self._known.set()
        else:
            self._actor.after(HOLD_SECONDS, self._known.set)

    def update(self, message: NodeEvictions) -> None:
        self._told = message
        self._known.set()

    async def known(self) -> None:
        """Wait until the eviction manager has told, for HOLD_SECONDS at most."""
        await self._known.wait()

    @property
    def conditions(self) -> frozenset[str]:
        """Those that hold."""
        return frozenset(self._told.conditions)

    def ends(self, uid: str) -> bool:
        """Whether this pod is evicted; its worker may have been restarted, and ask again."""
        return uid in self._told.ending
