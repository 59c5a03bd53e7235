"""The connected device plugins: their devices go into the inventory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from actors.shared.plugins.model import PluginError
from actors.shared.token_bucket import TokenBucket
from supervision.actor import Actor

from .dials import PluginDials
from .inventory import Inventory, ResourceTooLarge
from .rate_limit import MessageRate, SharedTime

if TYPE_CHECKING:
    from .plugin_client import PluginClient, PluginOptions

REGISTRATIONS_A_SECOND: Final = 1.0
BURST: Final = 10
"""Registrations of a resource in a row; further ones wait for their turn."""
SMALL_LIST: Final = 256
"""A list of at most so many devices does not wait for a longer one."""
MOST_RESOURCES: Final = 512
"""The most resources that the plugins of a node may have."""


OVERTAKEN: Final = "another plugin of this resource has registered meanwhile"


class ConnectedPlugin(NamedTuple):
    client: PluginClient
    options: PluginOptions


class DevicePlugins:
    """`changed` is called with the resource whose devices or plugin have changed."""

    def __init__(
        self,
        actor: Actor,
        inventory: Inventory,
        changed: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._actor, self._inventory, self._changed, self._clock = actor, inventory, changed, clock
        self._connected: dict[str, ConnectedPlugin] = {}
        self._latest: dict[str, PluginClient] = {}
        """The client that registered last; it may still be connecting."""
        self._dials, self._time = PluginDials(actor), SharedTime()
        self._pace: dict[str, TokenBucket] = {}
        self._preparing: set[str] = set()
        """Resources whose plugin, which may be away, prepares a device before each start."""

    def get(self, resource: str) -> ConnectedPlugin | None:
        return self._connected.get(resource)

    def must_prepare(self, resource: str) -> bool:
        """Whether the resource's plugin, which may be away, prepares a device before each start."""
        return resource in self._preparing

    @property
    def endpoints(self) -> dict[str, str]:
        """Path of the socket by resource."""
        return {resource: one.client.path for resource, one in self._connected.items()}

    async def connect(self, resource: str, path: str) -> None:
        """Connect a plugin in place of the resource's present one. Raises PluginError."""
        from .plugin_client import PluginClient  # gRPC, only where there is a plugin

        if resource not in self._pace and len(self._pace) >= MOST_RESOURCES:
            self._pace = {name: pace for name, pace in self._pace.items() if name in self._inventory}
            if len(self._pace) >= MOST_RESOURCES:
                raise PluginError(f"the node has {MOST_RESOURCES} resources of device plugins, and takes no more")
        earlier, client = self._latest.get(resource), PluginClient(path)
        self._latest[resource] = client
        try:
            if earlier is not None and not self._serves(resource, earlier):
                await earlier.close()  # it is still connecting
            await self._turn(resource, client)
            if self._latest.get(resource) is not client:
                raise PluginError(OVERTAKEN)
            options = await self._dials.dial(client)
            if self._latest.get(resource) is not client:
                raise PluginError(OVERTAKEN)
        except BaseException:  # also when the plugin waits no longer for its registration
            if self._latest.get(resource) is client:
                del self._latest[resource]
            await client.close()
            raise
        before = self._connected.get(resource)
        self._connected[resource] = connected = ConnectedPlugin(client, options)
        if options.pre_start:
            self._preparing.add(resource)
        else:
            self._preparing.discard(resource)
        self._inventory.registered(resource)
        self._actor.start_task(self._follow(resource, connected), f"devices of {resource}")
        self._actor.log.info("the device plugin of %s at %s is registered", resource, path)
        self._changed(resource)
        if before is not None:
            await before.client.close()

    async def _turn(self, resource: str, client: PluginClient) -> None:
        """Wait for the turn of the resource, or until the client is closed for a newer one."""
        bucket = self._pace.setdefault(resource, TokenBucket(REGISTRATIONS_A_SECOND, BURST))
        if pause := bucket.reserve(time.monotonic()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.closed.wait(), pause)
                bucket.give_back()

    def _serves(self, resource: str, client: PluginClient) -> bool:
        connected = self._connected.get(resource)
        return connected is not None and connected.client is client

    async def disconnect(self, resource: str, path: str) -> None:
        """The plugin at this path is gone; another one for the resource stays."""
        connected = self._connected.get(resource)
        if connected is not None and connected.client.path == path:
            await connected.client.close()  # which ends the stream of devices

    async def close(self) -> None:
        """Disconnect from all plugins. Their devices stay, because only this process ends."""
        clients, self._latest = {*self._latest.values()}, {}
        clients |= {one.client for one in self._connected.values()}
        self._connected = {}
        for client in clients:
            await client.close()

    async def _follow(self, resource: str, connected: ConnectedPlugin) -> None:
        pace = MessageRate()
        reason = "it ended the list of its devices"
        try:
            async for found in connected.client.devices():
                small = len(found) <= SMALL_LIST and not pace.exceeded  # many floods of short lists cost as much
                async with self._time.turn(small=small):
                    if self._connected.get(resource) is not connected:
                        return
                    started_at, devices = time.monotonic(), found.read()
                    self._inventory.check_room(resource, devices)
                    self._inventory.reported(resource, devices)
                    self._changed(resource)
                await pace.after(started_at if small else time.monotonic())
        except (PluginError, ResourceTooLarge) as error:
            reason = str(error)
        await connected.client.close()
        if self._connected.get(resource) is connected:
            del self._connected[resource]
            self._inventory.stopped(resource, self._clock())
            self._actor.log.warning("the device plugin of %s is away: %s", resource, reason)
            self._changed(resource)
