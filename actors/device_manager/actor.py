"""The device manager: plugins of devices and of resource claims register here."""

from __future__ import annotations

from typing import cast

from actors.shared.config.agent import Agent
from actors.shared.plugins.model import CSI
from actors.shared.plugins.watch import PluginWatch
from supervision.actor import Actor


class DeviceManager(Actor):
    """See messages.py for its messages."""

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        elsewhere = () if agent.standalone else (CSI,)
        self._plugins = PluginWatch(self, agent.plugins_registry_dir, {}, elsewhere)
        self._plugins.start()

    async def on_stop(self) -> None:
        self._plugins.close()
