"""Mounts tmpfs for volumes in memory, and warns once when they may be swapped to a disk."""

from __future__ import annotations

from typing import Final, cast

from actors.api_clients.messages import EVENT_CLIENT, node_event
from actors.shared.config.agent import Agent
from actors.volume_manager.host import memory_mounts
from supervision.actor import Actor

from .disposable_calls import DisposableCalls

_MOUNT: Final = "actors.volume_manager.host.memory_mounts:mount_memory"
_ON_DISK: Final = "tmpfs has no option noswap here: memory-backed volumes might be swapped to disk"


class MemoryMounts:
    def __init__(self, actor: Actor, calls: DisposableCalls) -> None:
        self._actor, self._calls = actor, calls
        self._warned = False

    async def mount(self, path: str, size: int, group: int | None) -> str:
        """A tmpfs of `size` bytes (0: no limit). '' or the error's text."""
        if memory_mounts.mounted(path, "tmpfs") is not None:
            return ""
        arguments = {"path": path, "size": size, "group": group}
        return await self._calls.run(path, _MOUNT, arguments, self._warn_of_swap)

    def _warn_of_swap(self, has_noswap: bool) -> str:
        """Warn once. Returns '', as swap is no error of the volume."""
        if not has_noswap and memory_mounts.swap_is_on() and not self._warned:
            self._warned = True
            self._actor.log.warning("memory-backed volumes may reach the disk: swap is on and tmpfs has no noswap here")
            agent = cast(Agent, self._actor.context)
            if not agent.standalone:
                event = node_event(agent.node_name, "PossibleMemoryBackedVolumesOnDisk", _ON_DISK, "Warning")
                self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
        return ""
