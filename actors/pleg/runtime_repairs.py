"""Repairs of the runtime that the PLEG orders: restarts of a managed one, and the end of shims that leaked from it.

Containers outlive a restart of containerd. It is the only remedy for a start that hangs in it, and for containers that
it does not list because it came up on a full disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import Final, cast

from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from supervision.actor import Actor, AskError, DisposableError
from supervision.protocol import FORK_SERVER, RollingRestart

from . import hanging_starts, runtime_restarts
from .hanging_starts import HangingStarts
from .runtime_restarts import RuntimeRestarts

SHIMS_SECONDS: Final = 60.0
EXTERNAL_SHIMS_SECONDS: Final = 600.0
"""Only a killed actor makes an external containerd leave one."""
ROOM_BYTES: Final = 2**23
"""With less free space, containerd loads no container, and loses its present ones."""
ROOM_INODES: Final = 16
"""With fewer free inodes, too: it makes a file or directory for some of them."""
RESTART_SECONDS: Final = 5.0
"""For the order to restart the runtime."""
SWEEP_SHIMS: Final = "actors.shared.cri.leaked_shims:sweep"


def free_bytes(directory: str) -> int:
    """The free bytes for users other than root, none if it has no inodes for containerd's files; enough if they cannot
    be read."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return ROOM_BYTES
    if disk.f_files and disk.f_favail < ROOM_INODES:  # a file system without an inode table says 0
        return 0
    return disk.f_bavail * disk.f_frsize


class RuntimeRepairs:
    """The known problems of the runtime, and the times of repairs."""

    def __init__(self, actor: Actor, agent: Agent) -> None:
        self._actor, self._agent = actor, agent
        self._hanging = HangingStarts()
        self._restarts = RuntimeRestarts()
        self._unlisted: frozenset[str] = frozenset()
        """Containers that a managed runtime is to load again. Their pods may be gone meanwhile."""

    async def start_hangs(self, container_id: str, listed: frozenset[str]) -> None:
        """A managed runtime is restarted when that lasts: nothing else ends such a start."""
        now = time.monotonic()
        self._hanging = hanging_starts.start_found(self._hanging, container_id, now, listed)
        if not hanging_starts.overdue(self._hanging, container_id, now):
            return
        self._hanging = hanging_starts.runtime_restarted(now)
        text = "the start of container %s hangs in the runtime for %.0f s: %s"
        seconds, log = hanging_starts.HANGS_SECONDS, self._actor.log
        if not self._agent.managed_runtime:
            log.warning(text, container_id, seconds, "restart the runtime, the container stays stuck")
            return
        log.error(text, container_id, seconds, "containerd is restarted, the containers go on")
        await self.restart()

    async def unlisted(self, whose: str, container_ids: Collection[str]) -> None:
        """Containers run that the runtime does not list. containerd that came up on a full disk loads them at its next
        start, if there is room then; until then they are remembered."""
        now, text = time.monotonic(), "%s: %d containers run that the runtime does not list: %s"
        if self._agent.managed_runtime:
            self._unlisted |= frozenset(container_ids)
        if now < self._restarts.not_before:
            return
        if self._agent.managed_runtime and self._has_room():
            await self._restart_to_load(now)
            return
        self._restarts = runtime_restarts.record_case(self._restarts, now, restarts=False)
        full = self._agent.managed_runtime or not self._has_room()
        remedy = "its disk is full" if full else "restart the runtime once its disk has room"
        self._actor.log.warning(text, whose, len(container_ids), remedy)

    async def look(self, listed: frozenset[str]) -> None:
        """Reload the unlisted containers, once there is room. `listed`: all ids of the last relist."""
        self._unlisted -= listed
        now = time.monotonic()
        if self._unlisted and now >= self._restarts.not_before and self._has_room():
            await self._restart_to_load(now)

    async def sweep_shims(self, listed: frozenset[str], list_age: float) -> None:
        """End shims of containerd for containers that it does not know, and release addresses of such sandboxes.
        `listed`: all ids of the last relist; `list_age`: the seconds since its start."""
        socket, managed = socket_of(self._agent.runtime_endpoint), self._agent.managed_runtime
        now = time.time()
        arguments = {"socket": socket, "known": sorted(listed), "now": now, "managed": managed, "list_age": list_age}
        try:
            found = await self._actor.disposable(SWEEP_SHIMS, arguments, deadline=SHIMS_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("leaked shims are not looked for: %s", error)
            return
        ended, running, released = cast("tuple[list[str], list[str], list[str]]", found)
        for name in ended:
            self._actor.log.warning("ended a shim that the runtime did not know of: %s", name)
        if released:
            self._actor.log.warning("released addresses of no pod: %s", ", ".join(released))
        if running and managed:
            await self.unlisted("pods that no source has", running)

    def _has_room(self) -> bool:
        return free_bytes(self._agent.root_dir) >= ROOM_BYTES

    async def _restart_to_load(self, now: float) -> None:
        count, self._unlisted = len(self._unlisted), frozenset()
        self._restarts = runtime_restarts.record_case(self._restarts, now, restarts=True)
        text = (
            "%d containers run, or did, that the runtime does not list: containerd is restarted, the containers go on"
        )
        self._actor.log.error(text, count)
        await self.restart()

    async def restart(self) -> None:
        """A managed one. Containers outlive it."""
        try:
            await self._actor.ask(FORK_SERVER, RollingRestart((CONTAINER_RUNTIME,)), timeout=RESTART_SECONDS)
        except AskError as error:
            self._actor.log.error("containerd is not restarted: %s", error)
