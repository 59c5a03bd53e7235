"""Who may not come because the node is shut down, or was while the pod was here."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import windows
from actors.shutdown_manager.messages import SHUTDOWN_MANAGER, NodeShutdown
from supervision.actor import Actor
from supervision.protocol import Hello

from .ledger import Refusal

HOLD_SECONDS: Final = 5.0
"""The longest that a new pod waits for the shutdown manager to tell how things stand."""
ACTIVE: Final = Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.")


class Leaving:
    """Of the container manager. Without a shutdown manager in the tree nobody is refused."""

    def __init__(self, actor: Actor, agent: Agent) -> None:
        self._actor = actor
        self._expected = bool(windows(agent.config))
        self._told = asyncio.Event()
        self._shutdown = NodeShutdown(active=False)

    def begin(self) -> None:
        if self._expected:
            hello = Hello(self._actor.name, self._actor.incarnation)
            self._actor.tell(SHUTDOWN_MANAGER, hello, deadline=30.0)
            self._actor.after(HOLD_SECONDS, self._told.set)

    def learn(self, message: NodeShutdown) -> None:
        self._shutdown = message
        self._told.set()

    async def told(self) -> None:
        """Wait until it is known how things stand, but not for long."""
        if self._expected:
            await self._told.wait()

    def refuse(self) -> Refusal | None:
        """Why no pod may come that is not on the node."""
        return ACTIVE if self._shutdown.active else None

    def ends(self, uid: str, *, counted: bool) -> bool:
        """Whether this pod, which does not run, is told to end by the shutdown manager now. `counted`: it was on the
        node before; a worker that was replaced meanwhile asks again."""
        return uid in self._shutdown.ended or (counted and self._shutdown.active)
