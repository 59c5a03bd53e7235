"""Device plugins and their allocations: answers requests for the devices of a container."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from actors.shared.config.agent import Agent
from actors.shared.hardware.allocation import ContainerAllocation
from supervision.actor import Actor

from .allocations import Allocations
from .allocator import Allocator
from .choice import DevicesUnavailable
from .device_reports import listed
from .hints import MOST_NODES, hints
from .holders import DeviceHolders
from .messages import (
    AllocateDevices,
    DeviceHints,
    DeviceRequest,
    Devices,
    DevicesAllocated,
    DevicesRefused,
    DevicesReserved,
    PrepareDevices,
    ReserveDevices,
)
from .node_devices import NodeDevices
from .registration import Registration
from .registration_socket import RegistrationSocket


class DeviceService:
    """`clock`: seconds, for the grace of plugins that are away."""

    def __init__(self, actor: Actor, agent: Agent, clock: Callable[[], float]) -> None:
        self._actor = actor
        self.node = node = NodeDevices(actor, agent, clock)
        self._inventory, self._holdings = node.inventory, node.holdings
        self._allocator = Allocator(actor, node.inventory, node.holdings, node.plugins, node.save)
        self._allocations, self._holders = Allocations(), DeviceHolders()
        self.registration = Registration(actor, node.plugins, agent.device_plugins_dir)
        self._socket = RegistrationSocket(actor, agent, self.registration)

    # -- start and stop --------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self.node.restore()
        await self._socket.open()
        self.node.find_plugins()

    async def stop(self) -> None:
        await self._socket.close()
        await self.node.plugins.close()

    # -- questions ----------------------------------------------------------------------------------------------------
    async def hints(self, request: DeviceRequest, machine: tuple[int, ...]) -> DeviceHints:
        await self.node.plugins_found()
        options = self._actor.context.config.topologyManagerPolicyOptions
        most = int(options.get("max-allowable-numa-nodes", MOST_NODES))
        found = {}
        for name, needed in request.amounts.items():
            resource = self._inventory.get(name)
            if resource is None or needed == 0:
                continue
            allocated = self._holdings.allocated_to(request.uid, request.container, name)
            if allocated:
                same = len(allocated) == needed
                found[name] = hints(resource.devices, allocated, (), needed, most, machine) if same else []
                continue
            reusable = self._holdings.reusable(request.uid, request.container, name, request.finished)
            free = resource.healthy - self._holdings.taken(name, request.uid, request.container)
            found[name] = hints(resource.devices, free, reusable, needed, most, machine)
        return DeviceHints(found)

    async def reserve(self, question: ReserveDevices) -> DevicesReserved | DevicesRefused:
        request = question.request

        async def when_found() -> bool:
            await self.node.plugins_found()
            return self._allocator.reserve(request, question.mask)

        self._holders.allocated(request.uid)
        try:
            return DevicesReserved(await self._allocations.at_once(request.uid, when_found))
        except DevicesUnavailable as error:
            return DevicesRefused(str(error))

    async def allocate(self, question: AllocateDevices) -> DevicesAllocated | DevicesRefused:
        request = question.request
        self._holders.allocated(request.uid)
        return await self._answer(
            request, lambda: self._allocator.allocate(request, question.mask, running=question.running)
        )

    async def prepare(self, question: PrepareDevices) -> DevicesAllocated | DevicesRefused:
        return await self._answer(question.request, lambda: self._allocator.prepare(question.request))

    async def _answer(
        self, request: DeviceRequest, work: Callable[[], Coroutine[Any, Any, ContainerAllocation]]
    ) -> DevicesAllocated | DevicesRefused:
        async def when_found() -> ContainerAllocation:
            await self.node.plugins_found()
            return await work()

        try:
            allocation = await self._allocations.serialized(request.uid, request.container, when_found)
        except DevicesUnavailable as error:
            return DevicesRefused(str(error))
        self.node.tell_health()
        allocated = self._holdings.of(request.uid, request.container)
        served = {*allocated, *(name for name in request.amounts if name in self._inventory)}
        return DevicesAllocated(allocation, sorted(served))

    def shard_pods(self, worker: str, workers: int, uids: list[str]) -> None:
        for uid in self._holders.find_unknown(worker, workers, uids, self._holdings.uids):
            self._actor.log.info("no worker has the pod %s any more: its devices are free", uid)
            self.release(uid)
        if self._holders.first_are_gone:
            self.node.damage_is_over()

    def release(self, uid: str) -> None:
        self._holders.released(uid)
        self._allocations.cancel(uid)
        if self._holdings.drop(uid):
            self.node.changed()

    def devices(self) -> Devices:
        return listed(self._inventory, self._holdings)
