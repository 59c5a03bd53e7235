"""Device plugins and their allocations: wires the parts, and reports the node's devices to other actors."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from actors.api_clients.messages import HEARTBEAT_CLIENT, DeviceResources
from actors.shared.config.agent import Agent
from actors.shared.hardware.allocation import ContainerAllocation
from supervision.actor import Actor, Timer
from supervision.repeated_warnings import RepeatedWarnings

from .allocations import Allocations
from .allocator import Allocator
from .choice import DevicesUnavailable
from .device_reports import health, listed
from .earlier_plugins import EarlierPlugins
from .health_reports import HealthReports
from .hints import MOST_NODES, hints
from .holders import Holders
from .holdings import Holdings
from .inventory import Inventory
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
from .plugins import DevicePlugins
from .record import DeviceCheckpoint
from .registration import Registration
from .registration_socket import RegistrationSocket


class DeviceService:
    """`clock`: seconds, for the grace of plugins that are away."""

    def __init__(self, actor: Actor, agent: Agent, clock: Callable[[], float]) -> None:
        self._actor, self._clock = actor, clock
        self._inventory, self._holdings = Inventory(), Holdings()
        self._record = DeviceCheckpoint(agent.device_plugins_dir, self._inventory, self._holdings)
        self._plugins = DevicePlugins(actor, self._inventory, self._changed, clock)
        self._allocator = Allocator(actor, self._inventory, self._holdings, self._plugins, self._record.save)
        self._allocations, self._holders = Allocations(), Holders()
        self.registration = Registration(actor, self._plugins, agent.device_plugins_dir)
        self._socket = RegistrationSocket(actor, agent, self.registration)
        self._earlier = EarlierPlugins(actor, agent.run_dir, self._plugins, self._publish)
        self._warnings = RepeatedWarnings(actor.log)
        self._expiry: Timer | None = None
        self._reports = HealthReports(actor, enabled=agent.gate("ResourceHealthStatus"))

    # -- life ---------------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self._record.restore(self._clock(), self._actor.log)
        await self._socket.open()
        self._earlier.find()

    async def stop(self) -> None:
        await self._socket.close()
        await self._plugins.close()

    # -- changes ------------------------------------------------------------------------------------------------------
    def _changed(self, resource: str) -> None:
        found = self._inventory.get(resource)
        if self._plugins.get(resource) is None or (found is not None and found.devices):
            self._earlier.come(resource)
        self._publish()

    def publish(self) -> None:
        """Report the node's devices. The last incarnation's report holds until its plugins are found again. A
        standalone agent has no node object."""
        if not self._actor.context.standalone and self._earlier.found.is_set():
            report = DeviceResources(self._inventory.capacity(), self._inventory.allocatable())
            self._actor.tell(HEARTBEAT_CLIENT, report, deadline=60.0)

    def tell_health(self, *, everything: bool = False) -> None:
        """Tell the health of the devices that pods have, where it has changed, or all of it."""
        if self._earlier.found.is_set():
            self._reports.tell(health(self._inventory, self._holdings), everything=everything)

    def _publish(self) -> None:
        """Write it down first."""
        if not self._earlier.found.is_set():
            return
        try:
            self._record.save()
            self._earlier.remember(self._plugins.endpoints)
        except OSError as error:
            self._warnings.warn("save", f"the state of devices is not written: {error}")
        else:
            self._warnings.resolved("save")
        self.publish()
        self.tell_health()
        self._await_expiry()

    def _await_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        until = self._inventory.next_expiry()
        self._expiry = None if until is None else self._actor.after(max(0.1, until - self._clock()), self._expire)

    def _expire(self) -> None:
        for resource in self._inventory.expire(self._clock()):
            self._actor.log.warning("%s is no resource of the node any more: its plugin did not come back", resource)
        self._publish()

    # -- questions ----------------------------------------------------------------------------------------------------
    async def hints(self, request: DeviceRequest) -> DeviceHints:
        await self._earlier.found.wait()
        options = self._actor.context.config.topologyManagerPolicyOptions
        most = int(options.get("max-allowable-numa-nodes", MOST_NODES))
        found = {}
        for name, needed in request.amounts.items():
            resource = self._inventory.get(name)
            if resource is None or needed == 0:
                continue
            held = self._holdings.held_by(request.uid, request.container, name)
            if held:
                found[name] = hints(resource.devices, held, (), needed, most) if len(held) == needed else []
                continue
            reusable = self._holdings.reusable(request.uid, request.container, name, request.finished)
            free = resource.healthy - self._holdings.taken(name, request.uid, request.container)
            found[name] = hints(resource.devices, free, reusable, needed, most)
        return DeviceHints(found)

    async def reserve(self, question: ReserveDevices) -> DevicesReserved | DevicesRefused:
        request = question.request

        async def when_found() -> bool:
            await self._earlier.found.wait()
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
            await self._earlier.found.wait()
            return await work()

        try:
            allocation = await self._allocations.serialized(request.uid, request.container, when_found)
        except DevicesUnavailable as error:
            return DevicesRefused(str(error))
        self.tell_health()
        held = self._holdings.of(request.uid, request.container)
        served = {*held, *(name for name in request.amounts if name in self._inventory)}
        return DevicesAllocated(allocation, sorted(served))

    def known_pods(self, worker: str, workers: int, uids: list[str]) -> None:
        for uid in self._holders.gone(worker, workers, uids, self._holdings.uids):
            self._actor.log.info("no worker has the pod %s any more: its devices are free", uid)
            self.release(uid)

    def release(self, uid: str) -> None:
        self._holders.released(uid)
        self._allocations.cancel(uid)
        if self._holdings.drop(uid):
            self._publish()

    def devices(self) -> Devices:
        return listed(self._inventory, self._holdings)
