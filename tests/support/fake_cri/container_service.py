"""Containers of the fake."""

from __future__ import annotations

import asyncio

from proto import cri_pb2 as cri

from . import status
from .containerlog import ContainerLog, is_pipe, wait_for_reader
from .images import Images, image_id
from .programs import Program, program_of
from .world import Container, RpcFailure, Sleep, World


class ContainerService:
    """Each `do_<Method>` answers that method; RpcFailure for what containerd refuses."""

    world: World
    images: Images
    flavour: str
    sleep: Sleep

    def container_name(self, request: cri.CreateContainerRequest) -> str:
        """As containerd names it: what may exist once only."""
        meta, pod = request.config.metadata, request.sandbox_config.metadata
        return f"{meta.name}_{pod.name}_{pod.namespace}_{pod.uid}_{meta.attempt}"

    def _container(self, container_id: str) -> Container:
        found = self.world.containers.get(container_id)
        if found is None:
            text = f'an error occurred when try to find container "{container_id}": not found'
            raise RpcFailure("NOT_FOUND", text)
        return found

    def _running(self, container_id: str) -> Container:
        container = self._container(container_id)
        if container.state != cri.CONTAINER_RUNNING:
            name = cri.ContainerState.Name(container.state)
            raise RpcFailure("UNKNOWN", f"container is in {name} state")
        return container

    def finish(self, container_id: str, exit_code: int = 0, reason: str = "", message: str = "") -> None:
        """Its process ends, as if by itself."""
        self.world.end(self._container(container_id), exit_code, reason, message)

    async def do_CreateContainer(self, request: cri.CreateContainerRequest, new_id: str) -> cri.CreateContainerResponse:
        sandbox = self.world.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None or not sandbox.ready:
            code = "NOT_FOUND" if sandbox is None or self.flavour == "1.6" else "UNKNOWN"
            raise RpcFailure(code, f'failed to find sandbox id "{request.pod_sandbox_id}": not found')
        config = request.config
        image = self.images.find(config.image.image)
        if image is None:
            raise RpcFailure("NOT_FOUND", f'failed to resolve image "{config.image.image}": not found')
        directory = request.sandbox_config.log_directory
        self.world.containers[new_id] = Container(
            id=new_id,
            sandbox_id=sandbox.id,
            config=config,
            image_ref=image_id(image),
            image_name=image,
            created_ns=self.world.clock_ns(),
            log_path=f"{directory}/{config.log_path}" if directory and config.log_path else "",
            resources=config.linux.resources,
        )
        self.world.announce(new_id, sandbox.id, cri.CONTAINER_CREATED_EVENT)
        return cri.CreateContainerResponse(container_id=new_id)

    async def do_StartContainer(self, request: cri.StartContainerRequest) -> cri.StartContainerResponse:
        container = self._container(request.container_id)
        if container.state != cri.CONTAINER_CREATED:
            name = cri.ContainerState.Name(container.state)
            raise RpcFailure(
                "UNKNOWN", f'failed to set starting state for container "{container.id}": container is in {name} state'
            )
        if container.starting:
            text = f'failed to set starting state for container "{container.id}"'
            raise RpcFailure("UNKNOWN", f"{text}: container is already in starting state")
        if is_pipe(container.log_path):
            await asyncio.shield(asyncio.ensure_future(self._open_pipe(container)))
        argv = [*container.config.command, *container.config.args]
        program = program_of(argv)
        container.started_ns = self.world.clock_ns()
        container.state = cri.CONTAINER_RUNNING
        if not program.exists:
            text = f'failed to create containerd task: exec: "{argv[0]}": executable file not found in $PATH'
            container.started_ns = 0
            self.world.end(container, 128, "StartError", text)
            raise RpcFailure("UNKNOWN", text)
        self.world.announce(container.id, container.sandbox_id, cri.CONTAINER_STARTED_EVENT)
        container.program = asyncio.ensure_future(self._run(container, program))
        return cri.StartContainerResponse()

    async def _open_pipe(self, container: Container) -> None:
        """Hangs, whether or not the caller still waits, until the log has a reader."""
        container.starting = True
        try:
            await wait_for_reader(container.log_path)
        finally:
            container.starting = False

    async def _run(self, container: Container, program: Program) -> None:
        log = ContainerLog(container.log_path, self.world.clock_ns)
        log.write("stdout", program.stdout)
        log.write("stderr", program.stderr)
        if program.seconds is not None:
            await self.sleep(program.seconds)
            self.world.end(container, program.exit_code)

    async def do_StopContainer(self, request: cri.StopContainerRequest) -> cri.StopContainerResponse:
        container = self.world.containers.get(request.container_id)
        if container is None:
            if self.flavour == "1.6":
                self._container(request.container_id)
            return cri.StopContainerResponse()
        if container.state == cri.CONTAINER_RUNNING:
            await self._stop(container, request.timeout)
        return cri.StopContainerResponse()

    async def _stop(self, container: Container, grace_seconds: int) -> None:
        program = program_of([*container.config.command, *container.config.args])
        is_pid_1 = container.config.linux.security_context.namespace_options.pid == cri.CONTAINER
        if grace_seconds > 0 and (program.heeds_term or not is_pid_1):
            self.world.end(container, program.term_code if container.config.command else 0)
            return
        waiting = [asyncio.ensure_future(container.ended.wait()), asyncio.ensure_future(self.sleep(grace_seconds))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        self.world.end(container, 137)

    async def do_RemoveContainer(self, request: cri.RemoveContainerRequest) -> cri.RemoveContainerResponse:
        container = self.world.containers.get(request.container_id)
        if container is not None:
            self.world.refuse_removal(container)
            self.world.end(container, 137)
            del self.world.containers[container.id]
            self.world.release(container.id)
            self.world.announce(container.id, container.sandbox_id, cri.CONTAINER_DELETED_EVENT)
        return cri.RemoveContainerResponse()

    async def do_ContainerStatus(self, request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
        return cri.ContainerStatusResponse(status=status.container_status(self._container(request.container_id)))

    async def do_ListContainers(self, request: cri.ListContainersRequest) -> cri.ListContainersResponse:
        wanted = request.filter
        listed = [
            status.listed_container(one)
            for one in self.world.containers.values()
            if one.id.startswith(wanted.id)
            and wanted.pod_sandbox_id in ("", one.sandbox_id)
            and status.has_labels(one.config.labels, wanted.label_selector)
        ]
        if wanted.HasField("state"):
            listed = [one for one in listed if one.state == wanted.state.state]
        return cri.ListContainersResponse(containers=listed)

    async def do_UpdateContainerResources(
        self, request: cri.UpdateContainerResourcesRequest
    ) -> cri.UpdateContainerResourcesResponse:
        """Numbers that are 0 in the request stay as they are."""
        self._running(request.container_id).resources.MergeFrom(request.linux)
        return cri.UpdateContainerResourcesResponse()

    async def do_ReopenContainerLog(self, request: cri.ReopenContainerLogRequest) -> cri.ReopenContainerLogResponse:
        container = self._running(request.container_id)
        ContainerLog(container.log_path, self.world.clock_ns).write("stdout", "")
        return cri.ReopenContainerLogResponse()

    async def do_ExecSync(self, request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        self._running(request.container_id)
        program = program_of(request.cmd)
        if not program.exists:
            raise RpcFailure("UNKNOWN", f'failed to exec: exec: "{request.cmd[0]}": executable file not found in $PATH')
        seconds = program.seconds if program.seconds is not None else float("inf")
        if request.timeout and seconds > request.timeout:
            await self.sleep(request.timeout)
            raise RpcFailure("DEADLINE_EXCEEDED", f"timeout {request.timeout}s exceeded")
        await self.sleep(seconds)
        return cri.ExecSyncResponse(
            stdout=program.stdout.encode(), stderr=program.stderr.encode(), exit_code=program.exit_code
        )

    async def do_Exec(self, request: cri.ExecRequest) -> cri.ExecResponse:
        return cri.ExecResponse(url=f"http://127.0.0.1:1/exec/{self._running(request.container_id).id[:8]}")

    async def do_Attach(self, request: cri.AttachRequest) -> cri.AttachResponse:
        return cri.AttachResponse(url=f"http://127.0.0.1:1/attach/{self._running(request.container_id).id[:8]}")
