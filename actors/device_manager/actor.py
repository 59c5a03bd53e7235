"""The device manager: plugins of devices and of resource claims register here.

Claims of pods are prepared by their drivers: see dra.
"""

from __future__ import annotations

from typing import cast

from actors.pod_workers.messages import KnownPods
from actors.shared.config.agent import Agent
from actors.shared.plugins.model import CSI, DRA, Handler
from actors.shared.plugins.watch import PluginWatch
from actors.status_manager.messages import STATUS_MANAGER
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName

from .dra.drivers import Connect
from .dra.resource_claims import ResourceClaims
from .messages import (
    ClaimDevices,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    GetClaimDevices,
    GetPodClaims,
    PodClaims,
    PrepareClaims,
    UnprepareClaims,
)


class DeviceManager(Actor):
    """See messages.py for its messages."""

    def __init__(self, connect: Connect | None = None) -> None:
        """`connect` makes the connection to a DRA driver; None: by gRPC."""
        super().__init__()
        self._connect = connect

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        self._claims = ResourceClaims(self, agent, self._connect)
        self._claims.start()
        elsewhere = () if agent.standalone else (CSI,)
        handlers: dict[str, Handler] = {DRA: self._claims.drivers} if agent.gate("DynamicResourceAllocation") else {}
        self._plugins = PluginWatch(self, agent.plugins_registry_dir, handlers, elsewhere)
        self._plugins.start()

    async def on_stop(self) -> None:
        self._plugins.close()

    async def on_hello(self, name: ActorName) -> None:
        if name == STATUS_MANAGER:
            self._claims.tell_all_health()

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

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        self._claims.know(message)
