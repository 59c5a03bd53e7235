"""Statistics of the fake: steady numbers."""

from __future__ import annotations

from proto import cri_pb2 as cri

from . import status
from .world import RpcFailure, World


class StatsService:
    """Each `do_<Method>` answers that method."""

    world: World

    async def do_ContainerStats(self, request: cri.ContainerStatsRequest) -> cri.ContainerStatsResponse:
        container = self.world.containers.get(request.container_id)
        if container is None:
            raise RpcFailure("NOT_FOUND", f'failed to find container "{request.container_id}": not found')
        return cri.ContainerStatsResponse(stats=status.container_stats(container, self.world.clock_ns()))

    async def do_ListContainerStats(self, request: cri.ListContainerStatsRequest) -> cri.ListContainerStatsResponse:
        wanted = request.filter
        stats = [
            status.container_stats(one, self.world.clock_ns())
            for one in self.world.containers.values()
            if one.state == cri.CONTAINER_RUNNING
            and wanted.pod_sandbox_id in ("", one.sandbox_id)
            and status.has_labels(one.config.labels, wanted.label_selector)
        ]
        return cri.ListContainerStatsResponse(stats=stats)

    async def do_PodSandboxStats(self, request: cri.PodSandboxStatsRequest) -> cri.PodSandboxStatsResponse:
        sandbox = self.world.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None:
            raise RpcFailure("NOT_FOUND", f'failed to find sandbox "{request.pod_sandbox_id}": not found')
        containers = self.world.containers_of(sandbox.id)
        return cri.PodSandboxStatsResponse(stats=status.sandbox_stats(sandbox, containers, self.world.clock_ns()))

    async def do_ListPodSandboxStats(self, request: cri.ListPodSandboxStatsRequest) -> cri.ListPodSandboxStatsResponse:
        now, wanted = self.world.clock_ns(), request.filter
        stats = [
            status.sandbox_stats(one, self.world.containers_of(one.id), now)
            for one in self.world.sandboxes.values()
            if one.ready and status.has_labels(one.config.labels, wanted.label_selector)
        ]
        return cri.ListPodSandboxStatsResponse(stats=stats)
