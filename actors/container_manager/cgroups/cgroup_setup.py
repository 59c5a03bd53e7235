"""Before the first pod: chooses the driver, and creates kubepods and its tiers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.errors import error_text

from .cgroup_driver import CgroupDriverChoice
from .node_allocatable import ENFORCE_SECONDS, NodeAllocatableCgroups
from .pod_cgroups import PodCgroups

RETRY_SECONDS: Final = 2.0


class CgroupSetup:
    """A runtime that did not answer at the start is asked for its driver again when a pod comes."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        cgroups: PodCgroups,
        driver: CgroupDriverChoice,
        allocatable: NodeAllocatableCgroups,
        found: Callable[[frozenset[str]], None],
    ) -> None:
        """`found` gets the UIDs of the pods that have cgroups of the chosen driver."""
        self._actor, self._enabled, self._cgroups = actor, agent.config.cgroupsPerQOS, cgroups
        self._driver, self._allocatable, self._on_found = driver, allocatable, found
        self._is_done, self._choosing = asyncio.Event(), asyncio.Lock()

    async def run(self) -> None:
        await self._use(await self._driver.choose())
        if self._enabled:
            self._actor.every(ENFORCE_SECONDS, self._allocatable.enforce, jitter=0.1)
        self._is_done.set()

    async def done(self) -> None:
        """Wait for the end of `run`."""
        await self._is_done.wait()

    async def done_with_driver(self) -> None:
        """Wait for the end of `run`; ask the runtime for its driver again if it has not answered yet."""
        await self.done()
        queried_at = time.monotonic()
        async with self._choosing:
            if self._driver.due(queried_at):
                driver = await self._driver.choose()
                if driver != self._cgroups.driver:
                    await self._use(driver)

    async def _use(self, driver: str) -> None:
        self._cgroups.use(driver)
        if self._enabled:
            await self._allocatable.enforce()
        self._on_found(await self._present() if self._enabled else frozenset())

    async def _present(self) -> frozenset[str]:
        """UIDs of the pods with cgroups. Waits until these can be read: a pod is admitted beside them only."""
        warned = False
        while True:
            try:
                return frozenset(self._cgroups.present())
            except OSError as error:
                if not warned:
                    self._actor.log.warning("no pod is admitted before the cgroups can be read: %s", error_text(error))
                warned = True
                await self._actor.pause(RETRY_SECONDS)
