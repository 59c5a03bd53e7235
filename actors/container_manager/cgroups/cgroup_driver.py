"""The choice of the cgroup driver."""

from __future__ import annotations

import time
from typing import Final

from actors.config_controller.messages import CONFIG_CONTROLLER, CgroupDriverLearnt
from actors.shared.config.agent import Agent
from actors.shared.linux.systemd import managed_driver
from supervision.actor import Actor, DisposableError
from supervision.time_scale import scaled

from .runtime_cgroup_driver import NoRuntimeAnswer

DRIVER_SECONDS: Final = 2.0
"""The deadline for the runtime's answer about its cgroup driver."""


class CgroupDriverChoice:
    """The driver that the runtime reports (KEP-4033), else the configured one. A runtime that starts after the agent is
    asked again before its first pod, because it refuses every sandbox with a cgroup of the other driver."""

    def __init__(self, actor: Actor, agent: Agent, host: str = "") -> None:
        """`host`: the root directory of a fake host."""
        self._actor, self._agent, self._host = actor, agent, host
        self._queried_at = 0.0
        self._final = False
        """The choice is final."""

    def due(self, since: float) -> bool:
        """Whether to choose again: the runtime has not answered, and has not been asked since that time (monotonic
        clock)."""
        return not self._final and self._queried_at < since

    async def choose(self) -> str:
        """`cgroupfs` or `systemd`."""
        configured = self._agent.config.cgroupDriver
        if self._agent.managed_runtime or not self._agent.config.cgroupsPerQOS:
            self._final = True
            chosen = managed_driver(configured, self._host) if self._agent.managed_runtime else configured
            if chosen != configured:
                self._actor.tell(CONFIG_CONTROLLER, CgroupDriverLearnt(chosen))
            return chosen
        answer = await self._ask()
        if answer:
            self._actor.tell(CONFIG_CONTROLLER, CgroupDriverLearnt(answer))
        return answer or configured

    async def _ask(self) -> str:
        """'' if the runtime does not report it or does not answer."""
        arguments = {"endpoint": self._agent.runtime_endpoint, "seconds": scaled(DRIVER_SECONDS)}
        function = "actors.container_manager.cgroups.runtime_cgroup_driver:ask"
        driver, answered = "", True
        try:
            driver = await self._actor.disposable(function, arguments, deadline=DRIVER_SECONDS + 2)
        except DisposableError as error:
            answered = False
            if error.kind != NoRuntimeAnswer.__name__:
                self._actor.log.warning("the runtime could not be asked for its cgroup driver: %s", error)
        self._queried_at, self._final = time.monotonic(), answered
        return driver
