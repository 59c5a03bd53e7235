"""What the plugin at a registration socket has said of itself, for those who wait for it."""

from __future__ import annotations

import asyncio

from .model import Plugin
from .sockets import Stamp


class PluginIdentity:
    """What is known of the plugin at the socket with this stamp; None: no socket is there."""

    def __init__(self, stamp: Stamp | None) -> None:
        self._stamp = stamp
        self._plugin: Plugin | None = None
        self._known = asyncio.Event()
        self._learnt = False

    def replace(self, stamp: Stamp | None) -> None:
        """Another socket is at the path, or none. Callers that wait for the old one get None."""
        self._known.set()
        self._stamp, self._plugin, self._learnt = stamp, None, False
        self._known = asyncio.Event()
        if stamp is None:
            self._known.set()

    def set(self, stamp: Stamp | None, plugin: Plugin | None) -> None:
        """Record the answer of the plugin at the socket with that stamp; None: it has not answered."""
        if stamp == self._stamp:
            self._plugin = plugin
            self._known.set()

    async def get(self) -> Plugin | None:
        """Waits until the plugin was asked. None if it did not answer, or if no socket is there."""
        known = self._known
        await known.wait()
        return self._plugin if known is self._known else None

    def learn(self) -> bool:
        """Whether this is the first call since there is this socket."""
        first, self._learnt = not self._learnt, True
        return first
