"""The pod resources API over gRPC. Imported for the first client: gRPC and protobuf cost memory."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import grpc
import grpc.aio

from actors.container_manager.messages import CONTAINER_MANAGER, GetExclusiveHardware
from actors.device_manager.messages import DEVICE_MANAGER, Devices, GetDevices, ListedDevices
from actors.shared import grpc_server
from actors.shared.hardware.exclusive import ContainerExclusive, Exclusive, MemoryOfNodes
from actors.shared.token_bucket import TokenBucket
from actors.status_manager.messages import STATUS_MANAGER, GetPods, all_pages
from proto import podresources_pb2 as api
from proto import podresources_pb2_grpc as stubs
from supervision.actor import Actor, AskError

from .dynamic_resources import Claims, dynamic_resources, find_claims
from .pods import PodInUse, find, pods_in_use

R = TypeVar("R")
Context = grpc.aio.ServicerContext[Any, Any]
VERSION: Final = "v1"
ASK_SECONDS: Final = 5.0
CALLS_AT_ONCE: Final = 64


async def serve(service: PodResources, path: str) -> grpc.aio.Server:
    """Start the server of both versions of the API on a Unix socket. Raises OSError, as `grpc_server.serve`."""

    def add(server: grpc.aio.Server) -> None:
        stubs.add_PodResourcesListerServicer_to_server(service, server)
        server.add_generic_rpc_handlers((_v1alpha1(service),))

    return await grpc_server.serve(path, add, CALLS_AT_ONCE)


def _v1alpha1(service: PodResources) -> grpc.GenericRpcHandler[Any, Any]:
    """The old version of the API. Its messages are prefixes of those of v1: its clients skip the rest."""
    listing = grpc.unary_unary_rpc_method_handler(
        service.list_v1alpha1,
        request_deserializer=api.ListPodResourcesRequest.FromString,
        response_serializer=api.ListPodResourcesResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler("v1alpha1.PodResourcesLister", {"List": listing})


class PodResources(stubs.PodResourcesListerServicer):
    """Answers with the pods of the status manager. Metrics are the kubelet's."""

    def __init__(self, actor: Actor, bucket: TokenBucket, *, active_only: bool) -> None:
        self._actor, self._bucket, self._active_only = actor, bucket, active_only

    async def List(self, request: Any, context: Context) -> api.ListPodResourcesResponse:
        return await self._count_call("list", context, lambda: self._list(context))

    async def list_v1alpha1(self, request: Any, context: Context) -> api.ListPodResourcesResponse:
        """List of v1alpha1: the devices of the regular containers of all pods, ended ones too. Only its calls are
        counted."""
        await self._admit(context)
        self._actor.metrics.count("kubelet_pod_resources_endpoint_requests_total", server_api_version="v1alpha1")
        pods, devices = await self._pods(context, active_only=False), await self._devices(context)
        return api.ListPodResourcesResponse(pod_resources=[_message_v1alpha1(pod, devices) for pod in pods])

    async def _list(self, context: Context) -> api.ListPodResourcesResponse:
        pods = await self._pods(context, active_only=self._active_only)
        in_use = await self._resources_in_use(context, pods)
        return api.ListPodResourcesResponse(pod_resources=[_message(pod, in_use) for pod in pods])

    async def GetAllocatableResources(self, request: Any, context: Context) -> api.AllocatableResourcesResponse:
        async def answer() -> api.AllocatableResourcesResponse:
            devices, exclusive = await self._devices(context), await self._exclusive(context)
            return api.AllocatableResourcesResponse(
                devices=[_device(one) for one in devices.allocatable],
                cpu_ids=exclusive.cpus,
                memory=[_memory(one) for one in exclusive.memory],
            )

        return await self._count_call("get_allocatable", context, answer)

    async def Get(self, request: api.GetPodResourcesRequest, context: Context) -> api.GetPodResourcesResponse:
        async def answer() -> api.GetPodResourcesResponse:
            namespace, name = request.pod_namespace, request.pod_name
            pod = find(await self._pods(context, active_only=False), namespace, name)
            if pod is None:
                # the kubelet's code: it returns a plain error
                await context.abort(grpc.StatusCode.UNKNOWN, f"pod {name} in namespace {namespace} not found")
            return api.GetPodResourcesResponse(
                pod_resources=_message(pod, await self._resources_in_use(context, [pod]))
            )

        return await self._count_call("get", context, answer)

    async def _count_call(self, call: str, context: Context, answer: Callable[[], Awaitable[R]]) -> R:
        await self._admit(context)
        metrics, name = self._actor.metrics, "kubelet_pod_resources_endpoint"
        metrics.count(f"{name}_requests_total", server_api_version=VERSION)
        metrics.count(f"{name}_requests_{call}", server_api_version=VERSION)
        answered = False
        try:
            result = await answer()
            answered = True
            return result
        finally:
            if not answered:
                metrics.count(f"{name}_errors_{call}", server_api_version=VERSION)

    async def _admit(self, context: Context) -> None:
        """Abort the call when there are too many."""
        if not self._bucket.take(time.monotonic()):
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")

    async def _pods(self, context: Context, *, active_only: bool) -> list[PodInUse]:
        try:
            pages = await all_pages(lambda after: self._actor.ask(STATUS_MANAGER, GetPods(after), timeout=ASK_SECONDS))
        except AskError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        return [pod for page in pages for pod in pods_in_use(page.data, active_only=active_only)]

    async def _resources_in_use(self, context: Context, pods: list[PodInUse]) -> _ResourcesInUse:
        return _ResourcesInUse(
            await self._claims(context, pods), await self._devices(context), await self._exclusive(context)
        )

    async def _claims(self, context: Context, pods: list[PodInUse]) -> Claims:
        try:
            return await find_claims(self._actor, pods)
        except AskError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    async def _devices(self, context: Context) -> Devices:
        try:
            return await self._actor.ask(DEVICE_MANAGER, GetDevices(), timeout=ASK_SECONDS)
        except AskError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    async def _exclusive(self, context: Context) -> Exclusive:
        try:
            answer = await self._actor.ask(CONTAINER_MANAGER, GetExclusiveHardware(), timeout=ASK_SECONDS)
        except AskError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        return answer.found


class _ResourcesInUse(NamedTuple):
    """The resources that pods hold, from the managers."""

    claims: Claims
    devices: Devices
    exclusive: Exclusive


def _message(pod: PodInUse, in_use: _ResourcesInUse) -> api.PodResources:
    devices, exclusive = in_use.devices.containers.get(pod.uid, {}), in_use.exclusive.pods.get(pod.uid, {})
    containers = []
    for name in pod.containers:
        own = exclusive.get(name, ContainerExclusive())
        message = api.ContainerResources(
            name=name,
            devices=[_device(one) for one in devices.get(name, ())],
            cpu_ids=own.cpus,
            memory=[_memory(one) for one in own.memory],
            dynamic_resources=dynamic_resources(pod, name, in_use.claims),
        )
        containers.append(message)
    return api.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)


def _message_v1alpha1(pod: PodInUse, devices: Devices) -> api.PodResources:
    in_use = devices.containers.get(pod.uid, {})
    containers = [
        api.ContainerResources(
            name=name,
            devices=[
                api.ContainerDevices(resource_name=one.resource, device_ids=one.ids) for one in in_use.get(name, ())
            ],
        )
        for name in pod.containers[pod.sidecars :]
    ]
    return api.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)


def _device(listed: ListedDevices) -> api.ContainerDevices:
    topology = _topology(listed.nodes) if listed.nodes else None
    return api.ContainerDevices(resource_name=listed.resource, device_ids=listed.ids, topology=topology)


def _memory(listed: MemoryOfNodes) -> api.ContainerMemory:
    return api.ContainerMemory(memory_type=listed.kind, size=listed.size, topology=_topology(listed.nodes))


def _topology(nodes: Iterable[int]) -> api.TopologyInfo:
    return api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in nodes])
