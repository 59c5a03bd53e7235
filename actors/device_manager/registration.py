"""How device plugins register: by kubelet.sock in the directory device-plugins, or by plugins_registry."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.kube.extended_resources import is_extended
from actors.shared.plugins.model import Plugin, PluginError
from supervision.actor import Actor

from .plugins import MOST_RESOURCES, DevicePlugins

VERSION: Final = "v1beta1"
_TOTAL: Final = "kubelet_device_plugin_registration_total"


class Registration:
    """Takes both ways. `directory`: device-plugins."""

    def __init__(self, actor: Actor, plugins: DevicePlugins, directory: str) -> None:
        self._actor, self._plugins, self._directory = actor, plugins, directory
        self._counted: set[str] = set()
        """Resources that have a series of metrics: invented names must not make more and more."""

    # -- by kubelet.sock ----------------------------------------------------------------------------------------------
    async def by_request(self, version: str, endpoint: str, resource: str) -> None:
        """`endpoint`: name of a socket in the directory. Raises PluginError with the kubelet's text."""
        if version != VERSION:
            raise PluginError(
                f'requested API version "{version}" is not supported by kubelet. Supported version is ["{VERSION}"]'
            )
        if not is_extended(resource):
            raise PluginError(f'the ResourceName "{resource}" is invalid')
        await self._connect(resource, self._path(endpoint))

    def _path(self, endpoint: str) -> str:
        """Raises PluginError."""
        path = os.path.normpath(f"{self._directory}/{endpoint}")
        if not path.startswith(f"{os.path.normpath(self._directory)}/") or "\0" in path:
            raise PluginError(f'the endpoint "{endpoint}" is no socket in {self._directory}')
        return path

    # -- by plugins_registry (Handler) --------------------------------------------------------------------------------
    def refusal(self, plugin: Plugin) -> str:
        if VERSION not in plugin.versions:
            versions = " ".join(plugin.versions)
            return f"manager version, {VERSION}, is not among plugin supported versions [{versions}]"
        if not is_extended(plugin.name):
            return f'invalid name of device plugin socket: the ResourceName "{plugin.name}" is invalid'
        return ""

    async def register(self, plugin: Plugin) -> None:
        """Raises PluginError."""
        await self._connect(plugin.name, plugin.endpoint)

    async def deregister(self, plugin: Plugin) -> None:
        await self._plugins.disconnect(plugin.name, plugin.endpoint)

    async def _connect(self, resource: str, path: str) -> None:
        if resource in self._counted or len(self._counted) < MOST_RESOURCES:
            self._counted.add(resource)
            self._actor.metrics.count(_TOTAL, resource_name=resource)
        await self._plugins.connect(resource, path)
