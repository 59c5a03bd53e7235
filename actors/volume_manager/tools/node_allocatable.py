"""The node's allocatable resources, from container_manager."""

from __future__ import annotations

from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources
from actors.shared.linux.memory import total_memory
from supervision.actor import Actor, AskError


class AllocatableLookup:
    """Asks each time, because allocatable changes: huge pages are added, reservations are changed."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._last: dict[str, int] = {}

    async def resources(self) -> dict[str, int]:
        """The allocatable resources by name. When container_manager does not answer: its last answer, {} without
        one."""
        try:
            answer = await self._actor.ask(CONTAINER_MANAGER, GetNodeResources(), timeout=2.0)
        except AskError:
            return self._last
        self._last = answer.allocatable
        return self._last

    async def memory(self) -> int:
        """The allocatable memory in bytes; the host's total before container_manager has ever answered."""
        return (await self.resources()).get("memory", 0) or total_memory()
