"""Refuses pods because the node shuts down, or because its last shutdown ended them."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import windows
from actors.shutdown_manager.messages import NodeShutdown
from supervision.actor import Actor

HOLD_SECONDS: Final = 5.0
"""The longest time that a new pod waits for the shutdown manager's report."""


class ShutdownAdmission:
    """The shutdown manager's report. Without a shutdown manager no pod is refused."""

    def __init__(self, actor: Actor, agent: Agent) -> None:
        self._actor = actor
        self._expected = bool(windows(agent.config))
        self._reported = asyncio.Event()
        self._shutdown = NodeShutdown(active=False)

    def start(self) -> None:
        if self._expected:
            self._actor.after(HOLD_SECONDS, self._reported.set)

    def update(self, message: NodeShutdown) -> None:
        self._shutdown = message
        self._reported.set()

    async def wait_for_report(self) -> None:
        """Wait for the shutdown manager's report, at most HOLD_SECONDS."""
        if self._expected:
            await self._reported.wait()

    @property
    def active(self) -> bool:
        """The node is shutting down: no new pod may run."""
        return self._shutdown.active

    def is_ending(self, uid: str, *, counted: bool) -> bool:
        """Whether the shutdown manager ends this pod, which does not run. `counted`: the pod was admitted before; its
        worker has restarted and asks again."""
        return uid in self._shutdown.ended or (counted and self._shutdown.active)
