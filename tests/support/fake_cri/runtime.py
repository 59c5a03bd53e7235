"""The fake runtime: each CRI method as containerd answers it (behaviour measured on 1.6, 1.7 and 2.1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

from google.protobuf.message import Message

from actors.shared.cri.adoption import DEFAULT_POLLING, PollSchedule
from actors.shared.cri.client import CriClient
from actors.shared.cri.deadlines import DEFAULT_DEADLINES, Deadlines
from proto import cri_pb2 as cri

from .container_service import ContainerService
from .faults import Fault, Faults
from .image_service import ImageService
from .images import Images
from .local import LocalTransport
from .sandbox_service import SandboxService
from .stats_service import StatsService
from .task_service import TaskService
from .world import RpcFailure, Sleep, World

Flavour = Literal["1.6", "2.1"]
"""1.6 has no events, no RuntimeConfig, and other words; 2.1 has them."""


class FakeRuntime(SandboxService, ContainerService, ImageService, StatsService, TaskService):
    """Asked by `client()` in this process, or served on a socket by `serve`. `calls` lists what was asked."""

    def __init__(
        self,
        flavour: Flavour = "2.1",
        clock_ns: Callable[[], int] = time.time_ns,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.flavour = flavour
        self.world = World(clock_ns)
        self.images = Images()
        self.faults = Faults(sleep)
        self.sleep = sleep
        self.runtime_ready = self.network_ready = True
        self.runtime_name, self.info = "fake", dict[str, str]()
        """What it says of itself; `info` only when it is asked for more."""
        self.user_namespaces = False
        """Whether its handlers have them."""
        self.pod_cidr = ""
        self.calls: list[tuple[str, Message]] = []
        self._background: set[asyncio.Task[Any]] = set()

    def client(self, deadlines: Deadlines = DEFAULT_DEADLINES, polling: PollSchedule = DEFAULT_POLLING) -> CriClient:
        """The typed interface, in this process."""
        return CriClient.over(LocalTransport(self), deadlines, polling)

    def requests_for(self, method: str) -> list[Any]:
        """The requests of one method, oldest first."""
        return [request for name, request in self.calls if name == method]

    async def handle(self, method: str, request: Message) -> Message:
        """Answers one call, through the faults that meet it. Raises RpcFailure."""
        self.calls.append((method, request))
        fault = self.faults.take(method)
        carried_out = asyncio.ensure_future(self._carry_out(method, request, fault))
        if fault is None or (fault.late is None and fault.held is None):
            return await carried_out
        self._background.add(carried_out)
        carried_out.add_done_callback(self._background.discard)
        return await asyncio.shield(carried_out)

    async def _carry_out(self, method: str, request: Message, fault: Fault | None) -> Message:
        handler = self._handler(method)
        if method in ("RunPodSandbox", "CreateContainer"):
            response = await self._create(handler, method, request, fault)
        else:
            with self.world.starting(getattr(request, "container_id", "") if method == "StartContainer" else ""):
                await self.faults.before(fault)
            if fault is not None and fault.unheeded:
                return unheeded(method)
            response = await handler(request)
            if fault is not None and fault.duplicate:
                await handler(request)
        if fault is not None and fault.answer_held:
            await asyncio.Event().wait()
        if fault is not None and fault.answer_lost:
            raise RpcFailure("UNAVAILABLE", "error reading from server: EOF")
        return response

    async def _create(self, handler: Any, method: str, request: Any, fault: Fault | None) -> Message:
        """The name is reserved first, and given back when nothing comes of it."""
        new_id = self.world.new_id()
        name = self.sandbox_name(request) if method == "RunPodSandbox" else self.container_name(request)
        self.world.reserve(name, new_id, "FAILED_PRECONDITION" if self.flavour == "2.1" else "UNKNOWN")
        try:
            await self.faults.before(fault)
            if fault is not None and fault.unheeded:
                return unheeded(method)
            response: Message = await handler(request, new_id)
        except BaseException:
            self.world.release(new_id)
            raise
        if fault is not None and fault.duplicate:
            await handler(request, self.world.new_id())
        return response

    def _handler(self, method: str) -> Callable[..., Awaitable[Message]]:
        found: Callable[..., Awaitable[Message]] | None = getattr(self, f"do_{method}", None)
        if found is None or (self.flavour == "1.6" and method == "RuntimeConfig"):
            raise RpcFailure("UNIMPLEMENTED", f"unknown method {method} for service runtime.v1.RuntimeService")
        return found

    async def events(self) -> AsyncIterator[cri.ContainerEventResponse]:
        """GetContainerEvents. Raises RpcFailure."""
        fault = self.faults.take("GetContainerEvents")
        await self.faults.before(fault)
        if self.flavour == "1.6":
            raise RpcFailure("UNIMPLEMENTED", "unknown method GetContainerEvents for service runtime.v1.RuntimeService")
        reader = self.world.subscribe()
        try:
            while True:
                event = await reader.get()
                yield event
                if fault is not None and fault.duplicate:
                    yield event
        finally:
            self.world.unsubscribe(reader)

    async def close(self) -> None:
        """Ends the programs of its containers, and what is still being carried out."""
        programs = [one.program for one in self.world.containers.values() if one.program is not None]
        pending = [task for task in (*programs, *self._background) if not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    # -- the runtime itself ---------------------------------------------------------------------------------------
    async def do_Version(self, request: cri.VersionRequest) -> cri.VersionResponse:
        version = "1.6.20" if self.flavour == "1.6" else "2.1.9"
        return cri.VersionResponse(
            version="0.1.0", runtime_name=self.runtime_name, runtime_version=version, runtime_api_version="v1"
        )

    async def do_Status(self, request: cri.StatusRequest) -> cri.StatusResponse:
        network = cri.RuntimeCondition(type="NetworkReady", status=self.network_ready)
        if not self.network_ready:
            network.reason, network.message = "NetworkPluginNotReady", "cni plugin not initialized"
        runtime = cri.RuntimeCondition(type="RuntimeReady", status=self.runtime_ready)
        response = cri.StatusResponse(status=cri.RuntimeStatus(conditions=[runtime, network]))
        if request.verbose:
            response.info.update(self.info)
        if self.flavour == "2.1":
            features = cri.RuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=self.user_namespaces)
            response.runtime_handlers.extend(cri.RuntimeHandler(name=name, features=features) for name in ("", "runc"))
            response.features.supplemental_groups_policy = True
        return response

    async def do_RuntimeConfig(self, request: cri.RuntimeConfigRequest) -> cri.RuntimeConfigResponse:
        return cri.RuntimeConfigResponse(linux=cri.LinuxRuntimeConfiguration(cgroup_driver=cri.CGROUPFS))

    async def do_UpdateRuntimeConfig(self, request: cri.UpdateRuntimeConfigRequest) -> cri.UpdateRuntimeConfigResponse:
        self.pod_cidr = request.runtime_config.network_config.pod_cidr
        return cri.UpdateRuntimeConfigResponse()


def unheeded(method: str) -> Message:
    """The empty answer."""
    answer: Message = getattr(cri, f"{method}Response")()
    return answer
