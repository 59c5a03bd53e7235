"""A plugin, and what an actor does that serves its type."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

CSI: Final = "CSIPlugin"
DEVICE: Final = "DevicePlugin"
DRA: Final = "DRAPlugin"


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin as its registration socket describes it (GetInfo)."""

    socket: str
    """Path of the registration socket."""
    kind: str
    """CSIPlugin, DevicePlugin or DRAPlugin; a plugin may say anything."""
    name: str
    endpoint: str
    """Path of the socket of the plugin itself; never empty."""
    versions: tuple[str, ...] = ()


class PluginError(Exception):
    """The plugin, or something that its registration depends on, failed; asking again may help."""


class PluginHandler(Protocol):
    """Serves one type of plugin. The calls for one socket never overlap; those for different sockets may."""

    def refusal(self, plugin: Plugin) -> str:
        """Why the plugin is not taken; '' when it is."""

    async def register(self, plugin: Plugin) -> None:
        """Take it, in place of one that registered by the same socket before. Raises PluginError."""

    async def deregister(self, plugin: Plugin) -> None:
        """Its socket is gone, or another plugin is there now. Never fails."""
