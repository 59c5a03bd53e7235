"""The node's allocatable resources, from container_manager."""

from __future__ import annotations

from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources
from actors.shared.linux.memory import total_memory
from supervision.actor import Actor, AskError


class AllocatableLookup:
    """Cached after the first answer."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._allocatable: dict[str, int] = {}

    async def resources(self) -> dict[str, int]:
        """The allocatable resources by name; {} when container_manager does not answer."""
        if not self._allocatable:
            try:
                answer = await self._actor.ask(CONTAINER_MANAGER, GetNodeResources(), timeout=2.0)
            except AskError:
                return {}
            self._allocatable = answer.allocatable
        return self._allocatable

    async def memory(self) -> int:
        """The allocatable memory in bytes; the host's total when container_manager does not answer."""
        return (await self.resources()).get("memory", 0) or total_memory()
