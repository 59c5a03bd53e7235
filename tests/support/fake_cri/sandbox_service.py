"""Sandboxes of the fake."""

from __future__ import annotations

from proto import cri_pb2 as cri

from . import status
from .faults import Faults
from .world import RpcFailure, Sandbox, World


class SandboxService:
    """Each `do_<Method>` answers that method; RpcFailure for what containerd refuses."""

    world: World
    faults: Faults
    flavour: str

    def sandbox_name(self, request: cri.RunPodSandboxRequest) -> str:
        """As containerd names it: what may exist once only."""
        meta = request.config.metadata
        return f"{meta.name}_{meta.namespace}_{meta.uid}_{meta.attempt}"

    def _sandbox(self, sandbox_id: str) -> Sandbox:
        found = self.world.sandboxes.get(sandbox_id)
        if found is None:
            raise RpcFailure("NOT_FOUND", f'an error occurred when try to find sandbox "{sandbox_id}": not found')
        return found

    def lose_sandbox(self, sandbox_id: str) -> None:
        """Its pause process is killed: not ready, its containers go on, its address stays."""
        self._sandbox(sandbox_id).ready = False
        self.world.announce(sandbox_id, sandbox_id, cri.CONTAINER_STOPPED_EVENT)

    async def do_RunPodSandbox(self, request: cri.RunPodSandboxRequest, new_id: str) -> cri.RunPodSandboxResponse:
        config = request.config
        if request.runtime_handler not in ("", "runc"):
            raise RpcFailure("UNKNOWN", f'no runtime for "{request.runtime_handler}" is configured')
        host_network = config.linux.security_context.namespace_options.network == cri.NODE
        self.world.sandboxes[new_id] = Sandbox(
            id=new_id,
            config=config,
            runtime_handler=request.runtime_handler,
            created_ns=self.world.clock_ns(),
            ip="" if host_network else self.world.new_address(),
            more_ips=() if host_network else self.world.more_ips,
        )
        self.world.announce(new_id, new_id, cri.CONTAINER_CREATED_EVENT)
        self.world.announce(new_id, new_id, cri.CONTAINER_STARTED_EVENT)
        return cri.RunPodSandboxResponse(pod_sandbox_id=new_id)

    async def do_StopPodSandbox(self, request: cri.StopPodSandboxRequest) -> cri.StopPodSandboxResponse:
        sandbox = self.world.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None:
            if self.flavour == "1.6":
                self._sandbox(request.pod_sandbox_id)
            return cri.StopPodSandboxResponse()
        for container in self.world.containers_of(sandbox.id):
            self.world.end(container, 137)
        if sandbox.ready:
            sandbox.ready = False
            self.world.announce(sandbox.id, sandbox.id, cri.CONTAINER_STOPPED_EVENT)
        sandbox.ip, sandbox.more_ips = "", ()
        return cri.StopPodSandboxResponse()

    async def do_RemovePodSandbox(self, request: cri.RemovePodSandboxRequest) -> cri.RemovePodSandboxResponse:
        sandbox = self.world.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None:
            return cri.RemovePodSandboxResponse()
        if sandbox.ready:
            raise RpcFailure(
                "UNKNOWN", f'failed to remove sandbox "{sandbox.id}": sandbox container is not fully stopped'
            )
        for container in self.world.containers_of(sandbox.id):
            self.world.refuse_removal(container)
            self.world.end(container, 137)
            self.world.release(container.id)
            del self.world.containers[container.id]
        del self.world.sandboxes[sandbox.id]
        self.world.release(sandbox.id)
        self.world.announce(sandbox.id, sandbox.id, cri.CONTAINER_DELETED_EVENT)
        return cri.RemovePodSandboxResponse()

    async def do_PodSandboxStatus(self, request: cri.PodSandboxStatusRequest) -> cri.PodSandboxStatusResponse:
        return cri.PodSandboxStatusResponse(status=status.sandbox_status(self._sandbox(request.pod_sandbox_id)))

    async def do_ListPodSandbox(self, request: cri.ListPodSandboxRequest) -> cri.ListPodSandboxResponse:
        wanted = request.filter
        listed = [
            status.listed_sandbox(one)
            for one in self.world.sandboxes.values()
            if one.id.startswith(wanted.id) and status.has_labels(one.config.labels, wanted.label_selector)
        ]
        if wanted.HasField("state"):
            listed = [one for one in listed if one.state == wanted.state.state]
        return cri.ListPodSandboxResponse(items=listed)

    async def do_PortForward(self, request: cri.PortForwardRequest) -> cri.PortForwardResponse:
        return cri.PortForwardResponse(
            url=f"http://127.0.0.1:1/portforward/{self._sandbox(request.pod_sandbox_id).id[:8]}"
        )

    async def do_UpdatePodSandboxResources(
        self, request: cri.UpdatePodSandboxResourcesRequest
    ) -> cri.UpdatePodSandboxResourcesResponse:
        self._sandbox(request.pod_sandbox_id)
        return cri.UpdatePodSandboxResourcesResponse()
