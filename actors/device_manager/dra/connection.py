"""Calls to a driver. Imported with the first driver only: it needs gRPC."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import grpc
import grpc.aio

from actors.shared.kube.go_text import UNREADABLE, client_details, code_name, rpc_error
from actors.shared.kube.resource_claims import ResourceClaimError
from actors.shared.plugins.registrar import CHANNEL_CLOSED, CLOSED, channel_to, raise_if_ending
from proto import dra_health_pb2 as health_pb
from proto import dra_pb2 as dra
from supervision.metrics import Metrics
from supervision.time_scale import scaled

from .batches import ClaimRef
from .claims import PreparedDevice
from .driver_services import UNLISTED_HEALTH, DriverService
from .health import HEALTHY, MOST_DEVICES, UNHEALTHY, UNKNOWN, DraDeviceHealth, NoHealthService

CALL_SECONDS: Final = 45.0
MOST_CLAIM_BYTES: Final = 64 << 10
"""Bytes of the devices of one claim, of which the API allows 32. The devices of all claims are kept in one file."""
MOST_REPORT_BYTES: Final = 1 << 20
"""The most bytes of a health report. Each driver may have one on its way."""
_PACKAGE: Final = "k8s.io.kubelet.pkg.apis.dra"
_HEALTH: Final = {health_pb.HEALTHY: HEALTHY, health_pb.UNHEALTHY: UNHEALTHY}
_Request = TypeVar("_Request", dra.NodePrepareResourcesRequest, dra.NodeUnprepareResourcesRequest)
_Answer = TypeVar("_Answer", dra.NodePrepareResourcesResponse, dra.NodeUnprepareResourcesResponse)


class DraConnection:
    """The connection to the socket at `endpoint`. It connects by itself, and again whenever the driver went away."""

    def __init__(self, driver: str, endpoint: str, service: DriverService, metrics: Metrics) -> None:
        self._driver, self._service, self._metrics = driver, service, metrics
        self._endpoint, self._channel = endpoint, channel_to(endpoint)
        self._health_channel: grpc.aio.Channel | None = None

    async def close(self) -> None:
        watched, self._health_channel = self._health_channel, self._channel  # which nobody opens again
        await self._channel.close(None)
        if watched is not None:
            await watched.close(None)

    async def follow(self, connected: Callable[[bool], None]) -> None:
        """Report whether the driver is connected, now and on each change; returns when the connection is closed."""
        while True:
            state = self._channel.get_state(try_to_connect=True)
            if state is grpc.ChannelConnectivity.SHUTDOWN:
                return
            connected(state is grpc.ChannelConnectivity.READY)
            await self._channel.wait_for_state_change(state)

    # -- claims ------------------------------------------------------------------------------------------------------
    async def prepare(
        self, claims: Iterable[ClaimRef]
    ) -> tuple[dict[str, str], Mapping[str, tuple[PreparedDevice, ...]]]:
        """Prepare claims. Returns by claim UID the error, '' for none, and the devices. Raises ResourceClaimError."""
        request = dra.NodePrepareResourcesRequest(claims=map(_claim, claims))
        answer = await self._call("NodePrepareResources", request, dra.NodePrepareResourcesResponse)
        errors = {uid: one.error or _too_large(one.ByteSize()) for uid, one in answer.claims.items()}
        prepared = {uid: one.devices for uid, one in answer.claims.items() if not errors[uid]}
        return errors, {uid: tuple(map(_device, devices)) for uid, devices in prepared.items()}

    async def unprepare(self, claims: Iterable[ClaimRef]) -> dict[str, str]:
        """Unprepare claims. Returns by claim UID the error, '' for none. Raises ResourceClaimError."""
        request = dra.NodeUnprepareResourcesRequest(claims=map(_claim, claims))
        answer = await self._call("NodeUnprepareResources", request, dra.NodeUnprepareResourcesResponse)
        return {uid: one.error for uid, one in answer.claims.items()}

    async def _call(self, method: str, request: _Request, kind: type[_Answer]) -> _Answer:
        """Raises ResourceClaimError."""
        path = f"/{_PACKAGE}.{self._service.version}.DRAPlugin/{method}"
        started_at, code = time.monotonic(), grpc.StatusCode.OK
        call: Any = self._channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=kind.FromString
        )
        try:
            answer: _Answer | None = await call(request, timeout=scaled(CALL_SECONDS))
            if answer is None:  # what gRPC makes of bytes that are no such message
                code = grpc.StatusCode.INTERNAL
                raise ResourceClaimError(f"{method}: {rpc_error(code.name, UNREADABLE)}")
            return answer
        except grpc.aio.AioRpcError as error:
            code = error.code()
            raise ResourceClaimError(f"{method}: {_text(error)}") from None
        except CHANNEL_CLOSED:
            code = grpc.StatusCode.CANCELLED
            raise_if_ending()
            raise ResourceClaimError(f"{method}: {CLOSED}") from None
        finally:
            self._metrics.observe(
                "dra_grpc_operations_duration_seconds", time.monotonic() - started_at,
                driver_name=self._driver, method_name=path, grpc_status_code=code_name(code.name),
            )  # fmt: skip

    # -- health ------------------------------------------------------------------------------------------------------
    async def watch_health(self) -> AsyncIterator[Iterable[DraDeviceHealth]]:
        """Each report of the driver, until it or the connection ends. Raises ResourceClaimError, NoHealthService."""
        if self._channel.get_state() is grpc.ChannelConnectivity.SHUTDOWN:  # nobody would close another channel
            raise ResourceClaimError(f"NodeWatchResources: {CLOSED}")
        channel = self._health_channel = self._health_channel or channel_to(self._endpoint, MOST_REPORT_BYTES)
        watch: Any = channel.unary_stream(
            f"/{self._service.health_version or UNLISTED_HEALTH}.DRAResourceHealth/NodeWatchResources",
            request_serializer=health_pb.NodeWatchResourcesRequest.SerializeToString,
            response_deserializer=health_pb.NodeWatchResourcesResponse.FromString,
        )
        try:
            async for answer in watch(health_pb.NodeWatchResourcesRequest()):
                if answer is None:
                    raise ResourceClaimError("NodeWatchResources: a report cannot be read")
                if (count := len(answer.devices)) > MOST_DEVICES:
                    text = f"a report has {count} devices, and {MOST_DEVICES} are the most"
                    raise ResourceClaimError(f"NodeWatchResources: {text}")
                yield map(_health, answer.devices)
        except grpc.aio.AioRpcError as error:
            text = f"NodeWatchResources: {_text(error)}"
            if error.code() is grpc.StatusCode.UNIMPLEMENTED and not self._service.health_version:
                await self._close_health_channel()
                raise NoHealthService(text) from None
            raise ResourceClaimError(text) from None
        except CHANNEL_CLOSED:
            raise_if_ending()
            raise ResourceClaimError(f"NodeWatchResources: {CLOSED}") from None

    async def _close_health_channel(self) -> None:
        channel = self._health_channel
        if channel is not None and channel is not self._channel:
            self._health_channel = None
            await channel.close(None)


def _text(error: grpc.aio.AioRpcError) -> str:
    return rpc_error(error.code().name, client_details(error.details() or ""))


def _too_large(size: int) -> str:
    return f"the answer has {size} bytes, and {MOST_CLAIM_BYTES} are the most" if size > MOST_CLAIM_BYTES else ""


def _claim(claim: ClaimRef) -> dra.Claim:
    return dra.Claim(namespace=claim.namespace, uid=claim.uid, name=claim.name)


def _device(one: dra.Device) -> PreparedDevice:
    return PreparedDevice(
        pool=one.pool_name,
        device=one.device_name,
        share_id=one.share_id if one.HasField("share_id") else None,
        requests=tuple(one.request_names),
        cdi_ids=tuple(one.cdi_device_ids),
    )


def _health(one: health_pb.DeviceHealth) -> DraDeviceHealth:
    return DraDeviceHealth(
        pool=one.device.pool_name,
        device=one.device.device_name,
        health=_HEALTH.get(one.health, UNKNOWN),
        timeout=float(max(0, one.health_check_timeout_seconds)),
        message=one.message,
    )
