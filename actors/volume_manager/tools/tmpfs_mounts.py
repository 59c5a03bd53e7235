"""Mounts tmpfs for volumes in memory, and warns once when they may be swapped to a disk."""

from __future__ import annotations

from typing import Final, cast

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.shared.config.agent import Agent
from actors.volume_manager.host import memory_mounts
from supervision.actor import Actor
from supervision.errors import error_text

_ON_DISK: Final = "tmpfs has no option noswap here: memory-backed volumes might be swapped to disk"


class TmpfsMounts:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._warned = False

    def mount(self, path: str, size: int, group: int | None) -> str:
        """A tmpfs of `size` bytes (0: no limit). '' or the error's text. It waits for no device and no server, so it
        needs no process of its own."""
        try:
            has_noswap = memory_mounts.mount_memory(path, size, group)
        except OSError as error:
            return error_text(error)
        if not has_noswap and memory_mounts.swap_is_on():
            self._warn_of_swap()
        return ""

    def _warn_of_swap(self) -> None:
        if self._warned:
            return
        self._warned = True
        self._actor.log.warning("memory-backed volumes may reach the disk: swap is on and tmpfs has no noswap here")
        agent = cast(Agent, self._actor.context)
        if not agent.standalone:
            event = node_event(agent.node_name, "PossibleMemoryBackedVolumesOnDisk", _ON_DISK, "Warning")
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
