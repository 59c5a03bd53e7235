"""Observes every ten seconds what the node has left, and tells the heartbeat client its pressure conditions."""

from __future__ import annotations

import time
from typing import Final

from actors.api_clients.messages import HEARTBEAT_CLIENT, NodePressure
from actors.image_manager.messages import IMAGE_MANAGER, GetImageFilesystem
from actors.shared.admission.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import thresholds
from supervision.actor import Actor, AskError, DisposableError

from .pressure import Observation, Pressure

OBSERVE_SECONDS: Final = 10.0
_READ_SECONDS: Final = 8.0
_ASK_SECONDS: Final = 5.0


class PressureMonitor:
    """`conditions`: those that hold. Standalone nothing is observed: nobody is told, and every pod is critical."""

    def __init__(self, actor: Actor, agent: Agent, host: str = "") -> None:
        self._actor, self._agent, self._host = actor, agent, host
        period = float(agent.config.evictionPressureTransitionPeriod)
        self._pressure = Pressure(thresholds(agent.config), period)
        self._images = ""
        self.conditions: frozenset[str] = frozenset()

    def begin(self) -> None:
        if not self._agent.standalone:
            self._actor.after(0.0, self.observe)
            self._actor.every(OBSERVE_SECONDS, self.observe, jitter=0.1)

    async def observe(self) -> None:
        arguments = {"disks": await self._disks(), "host": self._host}
        function = "actors.container_manager.eviction_signals:read"
        try:
            found = await self._actor.disposable(function, arguments, deadline=_READ_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("what the node has left is not known: %s", error)
            return
        observed = {signal: Observation(*amounts) for signal, amounts in found.items()}
        before, self.conditions = self.conditions, self._pressure.observe(observed, time.monotonic())
        for name in self.conditions - before:
            self._actor.log.warning("the node has %s: %s", name, _described(observed))
        for name in before - self.conditions:
            self._actor.log.info("the node has no %s any more", name)
        self._tell()

    def greet(self) -> None:
        """The heartbeat client has started. It takes no condition for granted, so only those that hold are told."""
        if self.conditions:
            self._tell()

    def _tell(self) -> None:
        names = self.conditions
        message = NodePressure(memory=MEMORY_PRESSURE in names, disk=DISK_PRESSURE in names, pids=PID_PRESSURE in names)
        self._actor.tell(HEARTBEAT_CLIENT, message)

    async def _disks(self) -> dict[str, str]:
        disks = {"nodefs": self._agent.root_dir}
        if not self._images:
            try:
                answer = await self._actor.ask(IMAGE_MANAGER, GetImageFilesystem(), timeout=_ASK_SECONDS)
                self._images = answer.mountpoint
            except AskError:
                return disks  # until it answers
        return {**disks, "imagefs": self._images} if self._images else disks


def _described(observed: dict[str, Observation]) -> str:
    return ", ".join(f"{signal} {one.available} of {one.capacity}" for signal, one in sorted(observed.items()))
