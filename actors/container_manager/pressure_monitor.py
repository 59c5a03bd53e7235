"""Looks every ten seconds what the node has left, and tells the heartbeat client what it is short of."""

from __future__ import annotations

import time
from typing import Final

from actors.api_clients.messages import HEARTBEAT_CLIENT, NodePressure
from actors.image_manager.messages import IMAGE_MANAGER, GetImageFilesystem, ImageFilesystem
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import thresholds
from supervision.actor import Actor, AskError, DisposableError

from .pressure import CONDITIONS, DISK, MEMORY, PIDS, Pressure, Seen

LOOK_SECONDS: Final = 10.0
_READ_SECONDS: Final = 8.0
_ASK_SECONDS: Final = 5.0


class Shortage:
    """Of the container manager. Standing alone nobody is told, and every pod is critical: nothing is looked at."""

    def __init__(self, actor: Actor, agent: Agent, host: str = "") -> None:
        self._actor, self._agent, self._host = actor, agent, host
        period = float(agent.config.evictionPressureTransitionPeriod)
        self._pressure = Pressure(thresholds(agent.config), period)
        self._images = ""
        self.short: frozenset[str] = frozenset()

    def begin(self) -> None:
        if not self._agent.standalone:
            self._actor.after(0.0, self.look)
            self._actor.every(LOOK_SECONDS, self.look, jitter=0.1)

    async def look(self) -> None:
        arguments = {"disks": await self._disks(), "host": self._host}
        function = "actors.container_manager.eviction_signals:read"
        try:
            found = await self._actor.disposable(function, arguments, deadline=_READ_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("it was not seen what the node has left: %s", error)
            return
        seen = {signal: Seen(*amounts) for signal, amounts in found.items()}
        before, self.short = self.short, self._pressure.look(seen, time.monotonic())
        for kind in self.short - before:
            self._actor.log.warning("the node has %s: %s", CONDITIONS[kind], _said(seen))
        for kind in before - self.short:
            self._actor.log.info("the node has no %s any more", CONDITIONS[kind])
        self.tell()

    def tell(self) -> None:
        """What is short now."""
        short = self.short
        pressure = NodePressure(memory=MEMORY in short, disk=DISK in short, pids=PIDS in short)
        self._actor.tell(HEARTBEAT_CLIENT, pressure)

    async def _disks(self) -> dict[str, str]:
        disks = {"nodefs": self._agent.root_dir}
        if not self._images:
            try:
                answer = await self._actor.ask(
                    IMAGE_MANAGER, GetImageFilesystem(), ImageFilesystem, timeout=_ASK_SECONDS
                )
                self._images = answer.mountpoint
            except AskError:
                return disks  # until it answers
        return {**disks, "imagefs": self._images} if self._images else disks


def _said(seen: dict[str, Seen]) -> str:
    return ", ".join(f"{signal} {amount.available} of {amount.capacity}" for signal, amount in sorted(seen.items()))
