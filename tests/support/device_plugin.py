"""A device plugin, as vendors write them: serves its devices on a socket in device-plugins, and registers.

In a test's own process (FakeDevicePlugin), or as a process of its own:

    python -m tests.support.device_plugin ROOT_DIR RESOURCE DEVICE[@NODE] ...
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from proto import device_plugin_pb2 as api
from proto import device_plugin_pb2_grpc as stubs
from proto import plugin_registration_pb2 as registration
from proto import plugin_registration_pb2_grpc

HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"


@dataclass
class FakeDevicePlugin:
    """`devices`: health by ID, or by `ID@NUMA node`. Each allocated device is /dev/null under its own name, with one
    variable and one mount for all."""

    root_dir: str
    resource: str = "vendor.test/thing"
    devices: dict[str, str] = field(default_factory=lambda: {"d0": HEALTHY, "d1": HEALTHY})
    pre_start: bool = False
    preferred: list[str] | None = None
    """What it prefers, whatever it is asked; None: it has no preference."""
    socket: str = ""
    """Name of its socket; '': after its resource."""
    by_registry: bool = False
    """It registers by plugins_registry."""
    told_path: str = ""
    """Of its socket, as it tells plugins_registry; '': where it is."""
    versions: tuple[str, ...] = ("v1beta1",)
    failing: dict[str, str] = field(default_factory=dict)
    """Text by the method that is to fail."""
    hanging: set[str] = field(default_factory=set)
    """Methods that do not answer until it stops, or until they are taken out."""
    rubbish: set[str] = field(default_factory=set)
    """Methods whose answers are no messages."""
    dies: bool = False
    """It ends amid Allocate."""
    empty: bool = False
    """Its answers to Allocate are empty."""
    environment: dict[str, str] = field(default_factory=dict)
    """More variables of its answers to Allocate."""
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Methods with the devices that they were about."""
    answered: list[str] = field(default_factory=list)
    """Methods whose answer has been written, or whose call has been given up."""
    registrations: list[tuple[bool, str]] = field(default_factory=list)
    """What the agent told of its registration by plugins_registry."""

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self.version = 0
        self.ended = threading.Event()
        self._server: grpc.Server | None = None

    @property
    def endpoint(self) -> str:
        return self.socket or self.resource.replace("/", "-") + ".sock"

    @property
    def path(self) -> str:
        return f"{self.root_dir}/device-plugins/{self.endpoint}"

    # -- life -----------------------------------------------------------------------------------------------------
    def serve(self) -> None:
        self.ended.clear()
        self._server = grpc.server(ThreadPoolExecutor(8), interceptors=[_Rubbish(self)])
        stubs.add_DevicePluginServicer_to_server(_Plugin(self), self._server)
        paths = [self.path]
        if self.by_registry:
            registrar = _Registrar(self)
            plugin_registration_pb2_grpc.add_RegistrationServicer_to_server(registrar, self._server)
            paths.append(f"{self.root_dir}/plugins_registry/{self.endpoint}")
        for path in paths:
            Path(path).unlink(missing_ok=True)
            self._server.add_insecure_port(f"unix://{path}")
        self._server.start()

    def register(self, **other: str) -> None:
        """Raises grpc.RpcError."""
        known = {"version": "v1beta1", "endpoint": self.endpoint, "resource_name": self.resource, **other}
        request = api.RegisterRequest(
            version=known["version"], endpoint=known["endpoint"], resource_name=known["resource_name"]
        )
        options = (("grpc.default_authority", "localhost"),)
        socket = f"unix://{self.root_dir}/device-plugins/kubelet.sock"
        with grpc.insecure_channel(socket, options=options) as channel:
            stub: Any = stubs.RegistrationStub(channel)
            stub.Register(request, timeout=30, wait_for_ready=True)

    def start(self) -> None:
        self.serve()
        if not self.by_registry:
            self.register()

    def stop(self) -> None:
        self.ended.set()
        with self.changed:
            self.changed.notify_all()
        server, self._server = self._server, None
        if server is not None:
            server.stop(None).wait()
            for path in (self.path, f"{self.root_dir}/plugins_registry/{self.endpoint}"):
                Path(path).unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[FakeDevicePlugin]:
        """It serves; it has not registered by kubelet.sock."""
        self.serve()
        try:
            yield self
        finally:
            self.stop()

    # -- devices --------------------------------------------------------------------------------------------------
    def set(self, devices: dict[str, str]) -> None:
        with self.changed:
            self.devices, self.version = devices, self.version + 1
            self.changed.notify_all()

    def note(self, method: str, ids: tuple[str, ...], context: grpc.ServicerContext) -> None:
        context.add_callback(lambda: self._end(method))
        with self.changed:
            self.calls.append((method, ids))
            self.changed.notify_all()
        if method in self.failing:
            context.abort(grpc.StatusCode.UNKNOWN, self.failing[method])
        with self.changed:
            while method in self.hanging and not self.ended.is_set():
                self.changed.wait(0.2)

    def wait_asked(self, method: str, times: int = 1, seconds: float = 30.0) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: [name for name, _ in self.calls].count(method) >= times, seconds), (
                self.calls
            )

    def _end(self, method: str) -> None:
        with self.changed:
            self.answered.append(method)
            self.changed.notify_all()

    def wait_answered(self, method: str, seconds: float = 30.0) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: method in self.answered, seconds), self.answered

    def allocated(self) -> list[tuple[str, ...]]:
        return [ids for method, ids in self.calls if method == "Allocate"]


class _Rubbish(grpc.ServerInterceptor):
    """Bytes in place of the answers of some methods."""

    def __init__(self, plugin: FakeDevicePlugin) -> None:
        self._plugin = plugin

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        if handler_call_details.method.rpartition("/")[2] in self._plugin.rubbish:
            return handler._replace(response_serializer=lambda message: b"\xff\xff")
        return handler


class _Registrar(plugin_registration_pb2_grpc.RegistrationServicer):
    def __init__(self, plugin: FakeDevicePlugin) -> None:
        self._plugin = plugin

    def GetInfo(self, request: Any, context: Any) -> registration.PluginInfo:
        plugin = self._plugin
        return registration.PluginInfo(
            type="DevicePlugin",
            name=plugin.resource,
            endpoint=plugin.told_path or plugin.path,
            supported_versions=plugin.versions,
        )

    def NotifyRegistrationStatus(self, request: Any, context: Any) -> registration.RegistrationStatusResponse:
        self._plugin.registrations.append((request.plugin_registered, request.error))
        return registration.RegistrationStatusResponse()


class _Plugin(stubs.DevicePluginServicer):
    def __init__(self, plugin: FakeDevicePlugin) -> None:
        self._plugin = plugin

    def GetDevicePluginOptions(self, request: Any, context: Any) -> api.DevicePluginOptions:
        self._plugin.note("GetDevicePluginOptions", (), context)
        return api.DevicePluginOptions(
            pre_start_required=self._plugin.pre_start,
            get_preferred_allocation_available=self._plugin.preferred is not None,
        )

    def ListAndWatch(self, request: Any, context: grpc.ServicerContext) -> Iterator[api.ListAndWatchResponse]:
        plugin = self._plugin
        plugin.note("ListAndWatch", (), context)
        while not plugin.ended.is_set() and context.is_active():
            version = plugin.version
            yield api.ListAndWatchResponse(devices=[_device(name, health) for name, health in plugin.devices.items()])
            with plugin.changed:
                while plugin.version == version and not plugin.ended.is_set() and context.is_active():
                    plugin.changed.wait(0.2)

    def GetPreferredAllocation(self, request: Any, context: Any) -> api.PreferredAllocationResponse:
        self._plugin.note("GetPreferredAllocation", tuple(request.container_requests[0].available_deviceIDs), context)
        answer = api.ContainerPreferredAllocationResponse(deviceIDs=self._plugin.preferred or ())
        return api.PreferredAllocationResponse(container_responses=[answer])

    def Allocate(self, request: api.AllocateRequest, context: Any) -> api.AllocateResponse:
        ids = tuple(request.container_requests[0].devices_ids)
        self._plugin.note("Allocate", ids, context)
        if self._plugin.dies:
            self._plugin.ended.set()
            context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        if self._plugin.empty:
            return api.AllocateResponse()
        devices = [
            api.DeviceSpec(container_path=f"/dev/thing-{one}", host_path="/dev/null", permissions="rw") for one in ids
        ]
        answer = api.ContainerAllocateResponse(
            envs={"THINGS": ",".join(ids), **self._plugin.environment},
            mounts=[api.Mount(container_path="/things", host_path="/usr/share", read_only=True)],
            devices=devices,
            annotations={"vendor.test/things": str(len(ids))},
            cdi_devices=[api.CDIDevice(name=f"vendor.test/thing={one}") for one in ids] if _wants_cdi() else [],
        )
        return api.AllocateResponse(container_responses=[answer])

    def PreStartContainer(self, request: Any, context: Any) -> api.PreStartContainerResponse:
        self._plugin.note("PreStartContainer", tuple(request.devices_ids), context)
        return api.PreStartContainerResponse()


def _wants_cdi() -> bool:
    """CDI names need a specification on the host; a test that has one asks for them."""
    return bool(os.environ.get("TROUPELET_TEST_CDI"))


def _device(name: str, health: str) -> api.Device:
    one, _, node = name.partition("@")
    topology = api.TopologyInfo(nodes=[api.NUMANode(ID=int(node))]) if node else None
    return api.Device(ID=one, health=health, topology=topology)


def main(root_dir: str, resource: str, *devices: str) -> None:
    """Serve until killed; register again whenever kubelet.sock is made again, as vendors' plugins do."""
    plugin = FakeDevicePlugin(root_dir, resource, dict.fromkeys(devices, HEALTHY))
    known: tuple[int, int] | None = None
    while True:
        try:
            found = os.stat(f"{root_dir}/device-plugins/kubelet.sock")
        except OSError:
            time.sleep(0.2)
            continue
        if known != (found.st_ino, found.st_ctime_ns):
            try:
                plugin.stop()
                plugin.start()
                known = (found.st_ino, found.st_ctime_ns)
                print(f"registered {resource}", flush=True)
            except grpc.RpcError as error:
                print(f"not registered: {error}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
