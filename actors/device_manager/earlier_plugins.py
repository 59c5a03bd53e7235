"""Finds the plugins of the last incarnation: they do not register again, for kubelet.sock has stayed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from actors.shared.plugins.model import PluginError
from supervision.actor import Actor
from supervision.state_file import DamagedError, StateFile

from .plugins import DevicePlugins

FILE: Final = "device-plugins.json"
FIND_SECONDS: Final = 5.0
"""Nothing waits longer for them."""


class EarlierPlugins:
    """Their sockets are in a private file in `run_dir`, which a new agent does not read: there they register again.
    `ended` is called once, when each has reported its devices or stayed away too long."""

    def __init__(self, actor: Actor, run_dir: str, plugins: DevicePlugins, ended: Callable[[], None]) -> None:
        self._actor, self._plugins, self._ended = actor, plugins, ended
        self._file = StateFile(f"{run_dir}/{FILE}", dict[str, str], sync=False)
        self._awaited: set[str] = set()
        self.found = asyncio.Event()

    def find(self) -> None:
        endpoints = self._load()
        self._awaited = set(endpoints)
        for resource, path in endpoints.items():
            self._actor.start_task(self._connect(resource, path), f"find {resource}")
        if self._awaited:
            self._actor.after(FIND_SECONDS, self._end)
        else:
            self._end()

    def _load(self) -> dict[str, str]:
        if self._actor.incarnation == 1:
            return {}
        try:
            return self._file.load() or {}
        except (OSError, DamagedError) as error:
            self._actor.log.warning("the sockets of the device plugins are not known: %s", error)
            return {}

    async def _connect(self, resource: str, path: str) -> None:
        try:
            await self._plugins.connect(resource, path)
        except PluginError as error:
            self._actor.log.warning("the device plugin of %s is away: %s", resource, error)
            self.come(resource)

    def come(self, resource: str) -> None:
        """Its devices are known, or it has none."""
        self._awaited.discard(resource)
        if not self._awaited:
            self._end()

    def _end(self) -> None:
        if not self.found.is_set():
            self.found.set()
            self._ended()

    def remember(self, endpoints: Mapping[str, str]) -> None:
        """Raises OSError."""
        self._file.save(dict(endpoints))
