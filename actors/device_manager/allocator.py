"""Allocates devices to a container: chooses them, has the plugin allocate them, and records them before it answers.

The order makes a loss at any moment harmless: devices are reserved before the plugin is asked, and the container
learns of them only after they are in the checkpoint. A reservation is in memory only: its devices are not in use yet.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from actors.shared.hardware.allocation import NOTHING, ContainerAllocation, combined
from actors.shared.plugins.model import PluginError
from supervision.actor import Actor
from supervision.errors import error_text

from .choice import DeviceChoice, DevicesUnavailable, already_has, finish, start
from .holdings import NO_NODE, Holdings, Key, Share
from .inventory import Inventory, Resource
from .messages import DeviceRequest
from .plugins import ConnectedPlugin, DevicePlugins

_SECONDS: Final = "kubelet_device_plugin_alloc_duration_seconds"


class Allocator:
    """`save` writes the checkpoint; it raises OSError."""

    def __init__(
        self, actor: Actor, inventory: Inventory, holdings: Holdings, plugins: DevicePlugins, save: Callable[[], None]
    ) -> None:
        self._actor, self._inventory, self._holdings, self._plugins = actor, inventory, holdings, plugins
        self._save = save
        self._choosing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By resource: no other request takes devices while the plugin is asked for its preference."""

    def reserve(self, request: DeviceRequest, mask: int | None) -> bool:
        """Reserve devices for the container until they are allocated; no plugin is asked. Returns whether a plugin
        serves, or served, one of the resources. Raises DevicesUnavailable; the devices reserved so far stay reserved
        until the pod is released or asks again."""
        served = False
        for name, needed in sorted(request.amounts.items()):
            resource, key = self._inventory.get(name), Key(request.uid, request.container, name)
            share = self._holdings.get(key)
            if resource is None and share is None and not self._holdings.taken(name):
                continue
            served, committed = True, self._holdings.is_committed(key)
            allocated = share.ids if share is not None else self._holdings.reserved(key) if committed else None
            if not already_has(request.uid, request.container, name, needed, resource, allocated):
                choice = self._start_choice(key, needed, request.finished, mask)
                self._holdings.reserve(key, finish(choice, ()))
        return served

    async def allocate(self, request: DeviceRequest, mask: int | None, *, running: bool) -> ContainerAllocation:
        """All devices that the container has now: the reserved ones, or those that the plugin prefers. Raises
        DevicesUnavailable; the container then keeps the devices of other resources until the pod is released."""
        new = False
        for name, needed in sorted(request.amounts.items()):
            resource, key = self._inventory.get(name), Key(request.uid, request.container, name)
            share = self._holdings.get(key)
            if resource is None and share is None and not self._holdings.taken(name):
                continue
            if running:
                if share is None and needed:
                    self._actor.log.warning(
                        "pod %s container %s runs, and the devices of %s that it has are not known",
                        request.uid, request.container, name,
                    )  # fmt: skip
                continue
            allocated = share.ids if share is not None else None
            has = already_has(request.uid, request.container, name, needed, resource, allocated)
            if not has and resource is not None:
                await self._take(key, needed, request.finished, mask)
                new = True
        if new:
            self._record(request)
        return self.allocation_of(request.uid, request.container)

    async def prepare(self, request: DeviceRequest) -> ContainerAllocation:
        """Prepare the devices before the container is created. Raises DevicesUnavailable."""
        missing = {
            name: needed
            for name, needed in request.amounts.items()
            if needed and self._holdings.get(Key(request.uid, request.container, name)) is None
        }
        if missing:  # as the kubelet: an allocation that is not recorded is made again
            again = DeviceRequest(
                uid=request.uid, container=request.container, amounts=missing, finished=request.finished
            )
            await self.allocate(again, None, running=False)
        for name, share in self._holdings.of(request.uid, request.container).items():
            plugin = self._plugins.get(name)
            if plugin is None and self._plugins.must_prepare(name):
                text = f"endpoint {name} has been stopped"
                raise DevicesUnavailable(f"device plugin PreStartContainer rpc failed with err: {text}")
            if plugin is not None and plugin.options.pre_start:
                try:
                    await plugin.client.pre_start(share.ids)
                except PluginError as error:
                    raise DevicesUnavailable(str(error)) from None
        return self.allocation_of(request.uid, request.container)

    def allocation_of(self, uid: str, container: str) -> ContainerAllocation:
        """Raises DevicesUnavailable for an answer in the checkpoint that cannot be read."""
        shares = self._holdings.of(uid, container)
        if not shares:
            return NOTHING
        from .plugin_client import allocation_of  # gRPC, only where there are devices

        try:
            return combined(allocation_of(share.response) for share in shares.values())
        except PluginError as error:
            raise DevicesUnavailable(str(error)) from None

    # -- one resource -------------------------------------------------------------------------------------------------
    async def _take(self, key: Key, needed: int, finished: list[str], mask: int | None) -> None:
        """Raises DevicesUnavailable."""
        reserved = self._holdings.reserved(key)
        try:
            async with self._choosing[key.resource]:
                plugin, resource, chosen = await self._choose(key, needed, finished, mask)
                reserved = self._holdings.reserve(key, chosen, committed=True)
            started_at = time.monotonic()
            try:
                response = await plugin.client.allocate(chosen)
            finally:
                self._actor.metrics.observe(_SECONDS, time.monotonic() - started_at, resource_name=key.resource)
            self._holdings.allocate(key, Share(_by_node(chosen, resource), response))
        except PluginError as error:
            raise DevicesUnavailable(str(error)) from None
        finally:
            self._holdings.cancel(key, reserved)

    async def _choose(
        self, key: Key, needed: int, finished: list[str], mask: int | None
    ) -> tuple[ConnectedPlugin, Resource, frozenset[str]]:
        """Raises DevicesUnavailable, PluginError."""
        plugin = self._plugins.get(key.resource)
        if plugin is None:
            raise DevicesUnavailable(f"unknown Device Plugin {key.resource}")
        choice = self._start_choice(key, needed, finished, mask)
        preferred: list[str] = []
        if choice.missing and plugin.options.preference:
            preferred = await plugin.client.preferred(choice.preferable, choice.taken, needed)
            choice = self._start_choice(key, needed, finished, mask)  # others may have reserved some meanwhile
        return plugin, self._inventory.get(key.resource) or Resource(), finish(choice, preferred)

    def _start_choice(self, key: Key, needed: int, finished: list[str], mask: int | None) -> DeviceChoice:
        """Raises DevicesUnavailable."""
        name, holdings = key.resource, self._holdings
        taken = holdings.taken(name, key.uid, key.container)
        reusable = holdings.reusable(key.uid, key.container, name, finished)
        return start(name, needed, self._inventory.get(name) or Resource(), taken, reusable, mask)

    def _record(self, request: DeviceRequest) -> None:
        """Raises DevicesUnavailable; the container then has no devices."""
        try:
            self._save()
        except OSError as error:
            for name in request.amounts:
                self._holdings.forget(Key(request.uid, request.container, name))
            raise DevicesUnavailable(
                f'failed to write checkpoint file "kubelet_internal_checkpoint": {error_text(error)}'
            ) from None


def _by_node(ids: frozenset[str], resource: Resource) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for one in sorted(ids):
        device = resource.devices.get(one)
        for node in (device.nodes if device is not None else ()) or (NO_NODE,):
            found.setdefault(node, []).append(one)
    return {node: tuple(there) for node, there in sorted(found.items())}
