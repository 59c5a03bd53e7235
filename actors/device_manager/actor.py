"""The device manager: plugins of devices and drivers of resource claims register here.

Devices are given to the containers of pods by their plugins (`device_service.py`), claims of pods are prepared by their
drivers (`dra/`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.plugins.model import CSI, DEVICE, DRA, PluginHandler
from actors.shared.plugins.watch import PluginWatch
from actors.status_manager.messages import STATUS_MANAGER
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName

from .device_service import DeviceService
from .dra.drivers import Connect
from .dra.resource_claims import ResourceClaims
from .messages import (
    AllocateDevices,
    ClaimDevices,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    DeviceHints,
    Devices,
    DevicesAllocated,
    DevicesRefused,
    DevicesReserved,
    GetClaimDevices,
    GetDeviceHints,
    GetDevices,
    GetPlugin,
    GetPodClaims,
    PluginAtSocket,
    PodClaims,
    PrepareClaims,
    PrepareDevices,
    ReleaseDevices,
    ReserveDevices,
    UnprepareClaims,
)


class DeviceManager(Actor):
    """See messages.py for its messages."""

    def __init__(self, connect: Connect | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """`connect` makes the connection to a DRA driver; None: by gRPC. `clock`: for the grace of device plugins."""
        super().__init__()
        self._connect, self._clock = connect, clock

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        self._devices = DeviceService(self, agent, self._clock)
        await self._devices.start()
        self._claims = ResourceClaims(self, agent, self._connect)
        self._claims.start()
        elsewhere = () if agent.standalone else (CSI,)
        handlers: dict[str, PluginHandler] = {DEVICE: self._devices.registration}
        if agent.gate("DynamicResourceAllocation"):
            handlers[DRA] = self._claims.drivers
        self._plugins = PluginWatch(self, agent.plugins_registry_dir, handlers, elsewhere)
        self._plugins.start()

    async def on_stop(self) -> None:
        self._plugins.close()
        await self._devices.stop()

    async def on_hello(self, name: ActorName) -> None:
        if name == HEARTBEAT_CLIENT:
            self._devices.node.tell_resources()
        if name == STATUS_MANAGER:
            self._claims.tell_all_health()
            self._devices.node.tell_health(everything=True)

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        self._claims.know(message)
        self._devices.shard_pods(message.worker, message.workers, message.uids)

    @on(GetPlugin)
    async def on_get_plugin(self, message: GetPlugin, sender: Address) -> PluginAtSocket:
        return PluginAtSocket(await self._plugins.identify(message.socket))

    # -- devices of containers ----------------------------------------------------------------------------------------
    @on(GetDeviceHints)
    async def on_get_hints(self, message: GetDeviceHints, sender: Address) -> DeviceHints:
        return await self._devices.hints(message.request, message.machine)

    @on(ReserveDevices)
    async def on_reserve(self, message: ReserveDevices, sender: Address) -> DevicesReserved | DevicesRefused:
        return await self._devices.reserve(message)

    @on(AllocateDevices)
    async def on_allocate(self, message: AllocateDevices, sender: Address) -> DevicesAllocated | DevicesRefused:
        return await self._devices.allocate(message)

    @on(PrepareDevices)
    async def on_prepare_devices(self, message: PrepareDevices, sender: Address) -> DevicesAllocated | DevicesRefused:
        return await self._devices.prepare(message)

    @on(ReleaseDevices)
    def on_release(self, message: ReleaseDevices, sender: Address) -> None:
        self._devices.release(message.uid)

    @on(GetDevices)
    def on_get_devices(self, message: GetDevices, sender: Address) -> Devices:
        return self._devices.devices()

    # -- resource claims ----------------------------------------------------------------------------------------------
    @on(PrepareClaims)
    async def on_prepare(self, message: PrepareClaims, sender: Address) -> ClaimsPrepared | ClaimsFailed:
        return await self._claims.prepare(message)

    @on(GetClaimDevices)
    def on_claim_devices(self, message: GetClaimDevices, sender: Address) -> ClaimDevices | ClaimsFailed:
        return self._claims.devices(message)

    @on(UnprepareClaims)
    async def on_unprepare(self, message: UnprepareClaims, sender: Address) -> ClaimsUnprepared | ClaimsFailed:
        return await self._claims.unprepare(message.uid)

    @on(GetPodClaims)
    def on_pod_claims(self, message: GetPodClaims, sender: Address) -> PodClaims:
        return self._claims.all()
