"""A plugin, and the interface of an actor that serves its type."""

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
    """CSIPlugin, DevicePlugin or DRAPlugin; a plugin may send any text."""
    name: str
    endpoint: str
    """Path of the socket of the plugin itself; never empty."""
    versions: tuple[str, ...] = ()


class PluginError(Exception):
    """The plugin, or something that its registration depends on, failed; asking again may help."""


class PluginHandler(Protocol):
    """Serves one type of plugin. The calls for one socket never overlap; those for different sockets may."""

    def refusal(self, plugin: Plugin) -> str:
        """Why the plugin is refused; '' if it is accepted."""

    async def register(self, plugin: Plugin) -> None:
        """Register the plugin, replacing an earlier one with the same socket. Raises PluginError."""

    async def deregister(self, plugin: Plugin) -> None:
        """Deregister the plugin: its socket is gone or belongs to another one. Never fails."""
