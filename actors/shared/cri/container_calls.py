"""The runtime service's calls for containers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from proto import cri_pb2 as cri

from . import leftover_tasks, methods, translate
from .adoption import Found, Settling, create_or_adopt
from .deadlines import Deadlines
from .errors import NotFound, Unimplemented
from .model import Container, ContainerEvent, ContainerState, ExecResult
from .transport import Transport

HASH_ANNOTATION = "io.kubernetes.container.hash"


class ContainerCalls:
    """Containers. Every call may raise a CriError."""

    _runtime: Transport
    _deadlines: Deadlines
    _settling: Settling

    async def create_container(
        self, sandbox_id: str, config: cri.ContainerConfig, sandbox_config: cri.PodSandboxConfig
    ) -> str:
        """The id of a container that was not started yet, made now or by an earlier try with the same name and attempt.

        Raises NotFound without the image or the sandbox; NameReserved when the container exists and was started.
        """
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)

        async def create() -> str:
            return (await self._runtime.call(methods.CREATE_CONTAINER, request, self._deadlines.request)).container_id

        async def find() -> Found | None:
            listed = await self.list_containers(sandbox_id=sandbox_id)
            wanted = (config.metadata.name, config.metadata.attempt)
            named = [one for one in listed if (one.name, one.attempt) == wanted]
            return Found(named[0].id, _as_new(config, named[0])) if named else None

        return await create_or_adopt(create, find, self._settling)

    async def start_container(self, container_id: str) -> None:
        """Once only. When its program cannot be executed: an error, and then EXITED with exit code 128 or so."""
        request = cri.StartContainerRequest(container_id=container_id)
        await self._runtime.call(methods.START_CONTAINER, request, self._deadlines.request)

    async def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """SIGTERM, and SIGKILL after `grace_seconds`. One that is not there is stopped."""
        request = cri.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        try:
            deadline = self._deadlines.stop_container(grace_seconds)
            await self._runtime.call(methods.STOP_CONTAINER, request, deadline)
        except NotFound:
            return

    async def remove_container(self, container_id: str) -> None:
        """Kills a running one. One that is not there is removed. Raises StillStarting for one that may run yet."""
        request = cri.RemoveContainerRequest(container_id=container_id)
        await leftover_tasks.remove(
            self._runtime, methods.REMOVE_CONTAINER, request, self._deadlines.request, self._settling
        )

    async def end_lost_task(self, container_id: str) -> None:
        """What a start that counts as failed may have left: it takes memory of its pod. Only containerd leaves any."""
        with contextlib.suppress(Unimplemented):
            await leftover_tasks.end(container_id, self._runtime, self._settling)

    async def container_status(self, container_id: str, sandbox_id: str = "") -> Container:
        """Raises NotFound. The runtime does not say the sandbox here: it is set to `sandbox_id`."""
        request = cri.ContainerStatusRequest(container_id=container_id)
        answer = await self._runtime.call(methods.CONTAINER_STATUS, request, self._deadlines.request)
        return translate.container_of(answer.status, sandbox_id)

    async def list_containers(self, labels: Mapping[str, str] | None = None, sandbox_id: str = "") -> list[Container]:
        """Those with all of `labels`, of one sandbox or of all, in any state."""
        wanted = cri.ContainerFilter(pod_sandbox_id=sandbox_id, label_selector=labels or {})
        request = cri.ListContainersRequest(filter=wanted)
        answer = await self._runtime.call(methods.LIST_CONTAINERS, request, self._deadlines.request)
        return [translate.listed_container(container) for container in answer.containers]

    async def update_container_resources(
        self,
        container_id: str,
        resources: cri.LinuxContainerResources,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """In place, on a running container."""
        request = cri.UpdateContainerResourcesRequest(
            container_id=container_id, linux=resources, annotations=annotations or {}
        )
        await self._runtime.call(methods.UPDATE_CONTAINER_RESOURCES, request, self._deadlines.request)

    async def reopen_container_log(self, container_id: str) -> None:
        """After its log file was renamed."""
        request = cri.ReopenContainerLogRequest(container_id=container_id)
        await self._runtime.call(methods.REOPEN_CONTAINER_LOG, request, self._deadlines.request)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_seconds: int = 0) -> ExecResult:
        """Runs a command to its end; 0: for as long as it takes.

        Raises DeadlineExceeded when it takes longer (it is killed then), and another error when it cannot be executed.
        """
        request = cri.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_seconds)
        answer = await self._runtime.call(methods.EXEC_SYNC, request, self._deadlines.exec_sync(timeout_seconds))
        return ExecResult(answer.exit_code, answer.stdout, answer.stderr)

    async def exec_url(self, request: cri.ExecRequest) -> str:
        """Where the runtime streams this command; valid for a short time, once."""
        return (await self._runtime.call(methods.EXEC, request, self._deadlines.request)).url

    async def attach_url(self, request: cri.AttachRequest) -> str:
        """Where the runtime streams the container's first process; valid for a short time, once."""
        return (await self._runtime.call(methods.ATTACH, request, self._deadlines.request)).url

    async def checkpoint_container(self, container_id: str, location: str, timeout_seconds: int = 0) -> None:
        """Writes a checkpoint archive to `location`. Raises Unimplemented on containerd before 2.0."""
        request = cri.CheckpointContainerRequest(container_id=container_id, location=location, timeout=timeout_seconds)
        deadline = self._deadlines.request + timeout_seconds
        await self._runtime.call(methods.CHECKPOINT_CONTAINER, request, deadline)

    async def container_events(self) -> AsyncIterator[ContainerEvent]:
        """As they happen, after what the runtime has kept for the first reader. Ends or raises when the runtime goes;
        raises Unimplemented on containerd 1.6. Events may be lost: they only make a look at the lists come sooner."""
        async for event in self._runtime.stream(methods.GET_CONTAINER_EVENTS, cri.GetEventsRequest()):
            yield translate.event_of(event)


def _as_new(config: cri.ContainerConfig, found: Container) -> bool:
    """Whether `found` was made for this very config, and not started."""
    same_hash = found.annotations.get(HASH_ANNOTATION) == config.annotations.get(HASH_ANNOTATION)
    return same_hash and found.state is ContainerState.CREATED
