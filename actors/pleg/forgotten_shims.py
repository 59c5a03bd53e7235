"""Ends shims that an external containerd cannot reach any more (`actors/shared/cri/forgotten_shims.py`)."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Final, cast

from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.cri.client import CriClient
from supervision.actor import Actor, DisposableError

from .runtime_repairs import SHIMS_SECONDS

CANDIDATES: Final = "actors.shared.cri.forgotten_shims:candidates"
END_SHIMS: Final = "actors.shared.cri.shims:kill_hanging"


class ForgottenShims:
    """Those of this agent's pods."""

    def __init__(self, actor: Actor, agent: Agent, client: CriClient) -> None:
        self._actor, self._agent, self._client = actor, agent, client

    async def end(self, listed: Collection[str], list_age: float) -> None:
        """Find and end them. Arguments as those of `RuntimeRepairs.sweep_shims`."""
        socket = socket_of(self._agent.runtime_endpoint)
        about = {"socket": socket, "known": sorted(listed), "now": time.time(), "list_age": list_age}
        about["cgroup_root"] = self._agent.cgroup_root
        try:
            ids = await self._client.without_record(await self._run(CANDIDATES, about))
            ended = await self._run(END_SHIMS, {"socket": socket, "ids": ids}) if ids else []
        except DisposableError as error:
            self._actor.log.warning("forgotten shims are not looked for: %s", error)
            return
        for name in ended:
            self._actor.log.warning("ended a shim that the runtime has no record of: %s", name)

    async def _run(self, function: str, arguments: dict[str, object]) -> list[str]:
        """Raises DisposableError."""
        return cast("list[str]", await self._actor.disposable(function, arguments, deadline=SHIMS_SECONDS))
