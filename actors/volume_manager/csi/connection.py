"""Calls to a driver. Imported only with the first driver, because it needs gRPC."""

from __future__ import annotations

import time
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import Message

from actors.shared.kube.go_text import UNREADABLE, client_details, code_name, rpc_error
from actors.shared.plugins.registrar import CHANNEL_CLOSED, CLOSED, channel_to, raise_if_ending
from proto import csi_pb2 as csi
from proto import csi_pb2_grpc
from supervision.metrics import Metrics
from supervision.time_scale import scaled

from .access import capability
from .errors import CallError
from .model import CsiMount, Driver

CALL_SECONDS: Final = 120.0
_RPC: Final = csi.NodeServiceCapability.RPC


class CsiConnection:
    """The connection to the socket at `path`. Each method raises CallError."""

    def __init__(self, path: str, metrics: Metrics | None = None) -> None:
        """`metrics`: where calls to the driver are counted."""
        self._metrics, self._driver = metrics, ""
        self._channel = channel_to(path)
        self._node: Any = csi_pb2_grpc.NodeStub(self._channel)

    async def close(self) -> None:
        """Closes once the calls under way have ended."""
        await self._channel.close(CALL_SECONDS)

    # -- driver -------------------------------------------------------------------------------------------------------
    async def describe(self, name: str, endpoint: str) -> Driver:
        self._driver = name
        info: csi.NodeGetInfoResponse = await self._call("NodeGetInfo", csi.NodeGetInfoRequest())
        answer: csi.NodeGetCapabilitiesResponse = await self._call(
            "NodeGetCapabilities", csi.NodeGetCapabilitiesRequest()
        )
        can = {one.rpc.type for one in answer.capabilities}
        return Driver(
            name=name,
            endpoint=endpoint,
            node_id=info.node_id,
            max_volumes=max(0, info.max_volumes_per_node),
            topology=dict(info.accessible_topology.segments),
            stages=_RPC.STAGE_UNSTAGE_VOLUME in can,
            expands=_RPC.EXPAND_VOLUME in can,
            groups=_RPC.VOLUME_MOUNT_GROUP in can,
            many_writers=_RPC.SINGLE_NODE_MULTI_WRITER in can,
            measures=_RPC.GET_VOLUME_STATS in can,
            conditions=_RPC.VOLUME_CONDITION in can,
        )

    async def stage(
        self, driver: Driver, step: CsiMount, path: str, context: dict[str, str], secrets: dict[str, str]
    ) -> None:
        request = csi.NodeStageVolumeRequest(
            volume_id=step.source.handle,
            publish_context=context,
            staging_target_path=path,
            volume_capability=capability(driver, step),
            secrets=secrets,
            volume_context=step.source.attributes,
        )
        await self._call("NodeStageVolume", request)

    async def publish(
        self, driver: Driver, step: CsiMount, staged: str, context: dict[str, str], secrets: dict[str, str],
        attributes: dict[str, str],
    ) -> None:  # fmt: skip
        request = csi.NodePublishVolumeRequest(
            volume_id=step.source.handle,
            publish_context=context,
            staging_target_path=staged,
            target_path=step.path,
            volume_capability=capability(driver, step),
            readonly=step.read_only,
            secrets=secrets,
            volume_context={**step.source.attributes, **attributes},
        )
        await self._call("NodePublishVolume", request)

    async def expand(self, driver: Driver, step: CsiMount, staged: str, size: int, secrets: dict[str, str]) -> None:
        """Expand a published volume. `staged`: its staging path, '' without one; `size`: bytes."""
        request = csi.NodeExpandVolumeRequest(
            volume_id=step.source.handle,
            volume_path=step.path,
            capacity_range=csi.CapacityRange(required_bytes=size),
            staging_target_path=staged,
            volume_capability=capability(driver, step),
            secrets=secrets,
        )
        await self._call("NodeExpandVolume", request)

    async def stats(self, handle: str, path: str) -> csi.NodeGetVolumeStatsResponse:
        """`path`: where the volume is published."""
        request = csi.NodeGetVolumeStatsRequest(volume_id=handle, volume_path=path)
        answer: csi.NodeGetVolumeStatsResponse = await self._call("NodeGetVolumeStats", request)
        return answer

    async def unpublish(self, handle: str, path: str) -> None:
        request = csi.NodeUnpublishVolumeRequest(volume_id=handle, target_path=path)
        await self._call("NodeUnpublishVolume", request)

    async def unstage(self, handle: str, path: str) -> None:
        request = csi.NodeUnstageVolumeRequest(volume_id=handle, staging_target_path=path)
        await self._call("NodeUnstageVolume", request)

    async def _call(self, method: str, request: Message) -> Any:
        """The answer to the method of that name. Raises CallError."""
        started_at, code = time.monotonic(), grpc.StatusCode.OK
        try:
            answer = await getattr(self._node, method)(request, timeout=scaled(CALL_SECONDS))
            if answer is None:
                code = grpc.StatusCode.INTERNAL
                raise CallError(method, rpc_error(code.name, UNREADABLE), code.name)
            return answer
        except grpc.aio.AioRpcError as error:
            code = error.code()
            raise CallError(method, rpc_error(code.name, client_details(error.details() or "")), code.name) from None
        except CHANNEL_CLOSED:
            code = grpc.StatusCode.CANCELLED
            raise_if_ending()
            raise CallError(method, CLOSED, code.name) from None
        finally:
            if self._driver and self._metrics is not None:
                self._metrics.observe(
                    "csi_operations_seconds", time.monotonic() - started_at,
                    driver_name=self._driver, grpc_status_code=code_name(code.name),
                    method_name=f"/csi.v1.Node/{method}", migrated="false",
                )  # fmt: skip
