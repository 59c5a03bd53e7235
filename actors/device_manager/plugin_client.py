"""Calls to a device plugin. Imported with the first plugin only: it needs gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Any, Final

import grpc
import grpc.aio
import msgspec
from google.protobuf.message import Message

from actors.shared.hardware.allocation import AllocatedMount, ContainerAllocation, DeviceSpec
from actors.shared.kube.go_text import UNREADABLE, client_details, rpc_error
from actors.shared.plugins.model import PluginError
from actors.shared.plugins.registrar import CHANNEL_CLOSED, CLOSED, DIAL_SECONDS, channel_to, raise_if_ending
from actors.shared.relay import is_socket
from proto import device_plugin_pb2 as api
from proto import device_plugin_pb2_grpc
from supervision.time_scale import scaled

from .inventory import Device

OPTIONS_SECONDS: Final = 10.0
PREFERENCE_SECONDS: Final = 30.0
PRE_START_SECONDS: Final = 30.0
HEALTHY: Final = "Healthy"
MOST_DEVICES: Final = 32768
"""The most devices of one resource: all that is kept of them is a small part of the actor's memory ceiling."""
MOST_ID_BYTES: Final = 1024
"""The most for a device's ID. Those of all devices are in the checkpoint, with a checksum over each byte."""
MOST_RESPONSE_BYTES: Final = 64 << 10
"""The most for what one container gets: hundreds of devices and mounts. All of it is in one checkpoint, which is
written whenever a container gets devices, with a checksum over each byte."""
MOST_NODES: Final = 1024
"""The kernel's maximum number of NUMA nodes."""


class PluginOptions(msgspec.Struct, frozen=True):
    """DevicePluginOptions."""

    pre_start: bool = False
    preference: bool = False


class DeviceList:
    """A list of devices as the plugin has sent it, which takes less memory than what is made of it."""

    def __init__(self, message: api.ListAndWatchResponse) -> None:
        self._message = message

    def __len__(self) -> int:
        return len(self._message.devices)

    def read(self) -> dict[str, Device]:
        """By ID. Raises PluginError."""
        return {_id(one): Device(one.health == HEALTHY, _nodes(one)) for one in self._message.devices}


class PluginClient:
    """The plugin at the socket `path`. Each call raises PluginError with gRPC's text, as Go writes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._channel = channel_to(path)
        self._stub: Any = device_plugin_pb2_grpc.DevicePluginStub(self._channel)
        self.closed = asyncio.Event()

    async def connect(self) -> PluginOptions:
        if not is_socket(self.path):  # gRPC would try again and again
            raise PluginError(f"failed to dial device plugin: no socket at {self.path}")
        try:
            await asyncio.wait_for(self._channel.channel_ready(), scaled(DIAL_SECONDS))
        except TimeoutError:
            raise PluginError(f"failed to dial device plugin: no answer at {self.path}") from None
        except CHANNEL_CLOSED:
            raise_if_ending()
            raise PluginError(CLOSED) from None
        try:
            found: api.DevicePluginOptions = await self._call("GetDevicePluginOptions", api.Empty(), OPTIONS_SECONDS)
        except PluginError as error:
            raise PluginError(f"failed to get device plugin options: {error}") from None
        return PluginOptions(found.pre_start_required, found.get_preferred_allocation_available)

    async def close(self) -> None:
        """Closes at once: calls under way fail."""
        self.closed.set()
        await self._channel.close(None)

    async def devices(self) -> AsyncIterator[DeviceList]:
        """All devices, at first and on each change, until the plugin ends the stream. Raises PluginError."""
        try:
            async for message in self._stub.ListAndWatch(api.Empty()):
                if message is None:
                    raise PluginError(rpc_error("INTERNAL", UNREADABLE))
                if len(message.devices) > MOST_DEVICES:
                    raise PluginError(f"it lists {len(message.devices)} devices, and {MOST_DEVICES} are the most")
                yield DeviceList(message)
        except grpc.aio.AioRpcError as error:
            raise PluginError(_text(error)) from None
        except CHANNEL_CLOSED:
            raise_if_ending()
            raise PluginError(CLOSED) from None

    async def allocate(self, ids: Iterable[str]) -> bytes:
        """The ContainerAllocateResponse. No deadline: a device may have to be prepared first."""
        request = api.AllocateRequest(container_requests=[api.ContainerAllocateRequest(devices_ids=sorted(ids))])
        answer: api.AllocateResponse = await self._call("Allocate", request, None)
        if not answer.container_responses:
            raise PluginError("no containers return in allocation response ")  # where Go writes the empty answer
        size = answer.container_responses[0].ByteSize()
        if size > MOST_RESPONSE_BYTES:
            raise PluginError(f"the answer to Allocate has {size} bytes, and {MOST_RESPONSE_BYTES} are the most")
        return answer.container_responses[0].SerializeToString(deterministic=True)

    async def preferred(self, available: Collection[str], included: Collection[str], size: int) -> list[str]:
        wanted = api.ContainerPreferredAllocationRequest(
            available_deviceIDs=sorted(available), must_include_deviceIDs=sorted(included), allocation_size=size
        )
        request = api.PreferredAllocationRequest(container_requests=[wanted])
        try:
            answer: api.PreferredAllocationResponse = await self._call(
                "GetPreferredAllocation", request, PREFERENCE_SECONDS
            )
        except PluginError as error:
            raise PluginError(f"device plugin GetPreferredAllocation rpc failed with err: {error}") from None
        return list(answer.container_responses[0].deviceIDs) if answer.container_responses else []

    async def pre_start(self, ids: Iterable[str]) -> None:
        request = api.PreStartContainerRequest(devices_ids=sorted(ids))
        try:
            await self._call("PreStartContainer", request, PRE_START_SECONDS)
        except PluginError as error:
            raise PluginError(f"device plugin PreStartContainer rpc failed with err: {error}") from None

    async def _call(self, method: str, request: Message, seconds: float | None) -> Any:
        """The answer to the method of that name. `seconds`: its deadline, None: there is none. Raises PluginError."""
        try:
            answer = await getattr(self._stub, method)(request, timeout=None if seconds is None else scaled(seconds))
        except grpc.aio.AioRpcError as error:
            raise PluginError(_text(error)) from None
        except CHANNEL_CLOSED:
            raise_if_ending()
            raise PluginError(CLOSED) from None
        if answer is None:
            raise PluginError(rpc_error("INTERNAL", UNREADABLE))
        return answer


def allocation_of(response: bytes) -> ContainerAllocation:
    """The allocation in a ContainerAllocateResponse. Raises PluginError for invalid bytes."""
    from google.protobuf.message import DecodeError

    try:
        found = api.ContainerAllocateResponse.FromString(response)
    except DecodeError:
        raise PluginError("the plugin's answer to Allocate in the checkpoint cannot be read") from None
    has_other_edits = found.devices or found.mounts or found.envs
    return ContainerAllocation(
        devices=tuple(DeviceSpec(one.host_path, one.container_path, one.permissions) for one in found.devices),
        mounts=tuple(AllocatedMount(one.host_path, one.container_path, one.read_only) for one in found.mounts),
        environment=dict(found.envs),
        annotations=dict(found.annotations),
        cdi_devices=tuple(one.name for one in found.cdi_devices),
        only_cdi=bool(found.cdi_devices) and not has_other_edits,
    )


def _id(device: api.Device) -> str:
    """Raises PluginError."""
    if (size := len(device.ID.encode())) > MOST_ID_BYTES:
        raise PluginError(f"it lists a device whose ID has {size} bytes, and {MOST_ID_BYTES} are the most")
    return device.ID


def _nodes(device: api.Device) -> tuple[int, ...]:
    """Numbers that no node can have are left out."""
    return tuple(sorted({node.ID for node in device.topology.nodes if 0 <= node.ID < MOST_NODES}))


def _text(error: grpc.aio.AioRpcError) -> str:
    return rpc_error(error.code().name, client_details(error.details() or ""))
