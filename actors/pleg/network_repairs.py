"""Repairs while the runtime reports that the pod network is not ready, or does not answer. Missing files of a managed
runtime are restored: its own configuration, without which it does not start, and the network's. If that does not help
the network, containerd has stopped watching its directory, and is restarted. Containers outlive that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from actors.container_runtime.messages import RESTORE_FILES
from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError, DisposableTimeout
from supervision.repeated_warnings import RepeatedWarnings
from supervision.time_scale import scaled

from . import runtime_restarts
from .runtime_restarts import RuntimeRestarts

RESTORE_SECONDS: Final = 30.0
NOTICE_SECONDS: Final = 10.0
"""A runtime that watches the directory has read a new file in it by then."""


class NetworkRepairs:
    """`restart`: of a managed runtime. `clock`: seconds, monotonic."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        restart: Callable[[], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._actor, self._agent, self._restart, self._clock = actor, agent, restart, clock
        self._warnings = RepeatedWarnings(actor.log)
        self._restarts = RuntimeRestarts()
        self._restored_at: float | None = None

    async def look(self, *, ready: bool) -> None:
        """The runtime has answered Status."""
        if ready:
            self._restored_at = None
        elif self._agent.managed_runtime:
            await self._repair()

    async def unreachable(self) -> None:
        """The runtime has not answered Status: it may lack files that it needs to start."""
        if self._agent.managed_runtime:
            await self._restore()

    async def _restore(self) -> bool:
        """Returns whether a file of the network was gone."""
        agent = self._agent
        arguments = {
            "root_dir": agent.root_dir,
            "runtime_dir": agent.managed_runtime_dir,
            "state_dir": agent.managed_state_dir,
            "cluster": not agent.standalone,
            "pod_cidr": agent.config.podCIDR,
        }
        try:
            restored = await self._actor.disposable(RESTORE_FILES, arguments, deadline=RESTORE_SECONDS)
        except (DisposableError, DisposableTimeout) as error:
            self._warnings.warn("restore", f"cannot look for containerd's missing configuration: {error}")
            return False
        self._warnings.resolved("restore")
        return bool(restored)

    async def _repair(self) -> None:
        now = self._clock()
        if await self._restore():
            self._actor.log.warning("the pod network's configuration was gone: it is made again")
            self._restored_at = now
        waited = self._restored_at is not None and now - self._restored_at >= scaled(NOTICE_SECONDS)
        if waited and now >= self._restarts.not_before:
            self._restarts = runtime_restarts.record_case(self._restarts, now, restarts=True)
            self._actor.log.error(
                "containerd does not read the pod network's configuration: it is restarted, the containers go on"
            )
            await self._restart()
