"""The runtime service's calls for containers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final

from actors.shared.kube.names import CONTAINER_HASH
from proto import cri_pb2 as cri

from . import conversion, leftover_tasks, methods
from .adoption import ExistingObject, PollSchedule, create_or_adopt
from .checked_answers import check_id, check_state, distinct, has_labels, id_of
from .deadlines import Deadlines
from .errors import NotFound, Unimplemented
from .model import ContainerEvent, CriContainer, CriContainerState, ExecResult
from .program_names import check_program, has_entrypoint, is_too_long
from .transport import Transport

_STATES: Final = frozenset(cri.ContainerState.values())
LONGEST_GRACE_SECONDS = (2**63 - 1) // 10**9
"""The longest timeout in seconds. Runtimes in Go count nanoseconds in 64 bits: a longer one would overflow and kill at
once."""


class ContainerCalls:
    """Containers. Every call may raise a CriError."""

    _runtime: Transport
    _outputs: Transport
    """The transport to the same runtime that reads one answer at a time."""
    _images: Transport
    """The transport to the image service."""
    _deadlines: Deadlines
    _polling: PollSchedule

    async def create_container(
        self, sandbox_id: str, config: cri.ContainerConfig, sandbox_config: cri.PodSandboxConfig
    ) -> str:
        """The ID of a container that is not started, made now or by an earlier create with the same name and attempt.

        Raises NotFound without the image or the sandbox; NameReserved when the container exists and was started;
        StillCreating when its creation takes longer than a few seconds.
        """
        check_program(methods.CREATE_CONTAINER.name, config.command)
        in_doubt = not config.command and config.args and is_too_long(config.args[0])
        if in_doubt and not await self._has_entrypoint(config.image.image):  # the first argument is the program
            check_program(methods.CREATE_CONTAINER.name, config.args)
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)

        async def create() -> str:
            answer = await self._runtime.call(methods.CREATE_CONTAINER, request, self._deadlines.request)
            return id_of(answer.container_id)

        async def find() -> ExistingObject | None:
            listed = await self.list_containers(sandbox_id=sandbox_id)
            name = (config.metadata.name, config.metadata.attempt)
            named = [one for one in listed if (one.name, one.attempt) == name]
            return ExistingObject(named[0].id, _is_usable(config, named[0])) if named else None

        return await create_or_adopt(create, find, self._polling)

    async def _has_entrypoint(self, image: str) -> bool:
        """Whether the image has a program of its own. True if that is unknown."""
        request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image), verbose=True)
        answer = await self._images.call(methods.IMAGE_STATUS, request, self._deadlines.request)
        return has_entrypoint(answer.info.get("info", ""))

    async def start_container(self, container_id: str) -> None:
        """A container can be started once. If its program cannot be executed, the call fails and the container is
        EXITED, usually with exit code 128."""
        request = cri.StartContainerRequest(container_id=container_id)
        await self._runtime.call(methods.START_CONTAINER, request, self._deadlines.request)

    async def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """SIGTERM, then SIGKILL after `grace_seconds`, at most 292 years.

        No error if the container does not exist."""
        grace_seconds = min(grace_seconds, LONGEST_GRACE_SECONDS)
        request = cri.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        try:
            deadline = self._deadlines.stop_container(grace_seconds)
            await self._runtime.call(methods.STOP_CONTAINER, request, deadline)
        except NotFound:
            return

    async def remove_container(self, container_id: str) -> None:
        """Remove the container, killing it first if it runs. No error if it does not exist. Raises StillStarting when
        its start is still in progress."""
        request = cri.RemoveContainerRequest(container_id=container_id)
        await leftover_tasks.remove(
            self._runtime, methods.REMOVE_CONTAINER, request, self._deadlines.request, self._polling
        )

    async def end_lost_task(self, container_id: str) -> None:
        """End the task that a failed start may have left in the pod's cgroup. Only containerd leaves such tasks."""
        with contextlib.suppress(Unimplemented):
            await leftover_tasks.end(container_id, self._runtime, self._polling)

    async def is_shim_silent(self, task_id: str) -> bool:
        """Whether the shim of this container or sandbox, whose processes are to end, does not answer to another order
        to kill them. Only containerd can be asked."""
        return await leftover_tasks.is_silent(task_id, self._runtime)

    async def without_record(self, ids: Iterable[str]) -> list[str]:
        """The ids of containers and sandboxes of which containerd says that it has no record; none of another
        runtime."""
        from . import container_records  # the PLEG alone needs it

        return await container_records.missing(ids, self._runtime)

    async def free_removed_space(self) -> None:
        """Have containerd free the space of removed containers now."""
        from . import removed_space  # the eviction manager alone needs it

        await removed_space.free(self._runtime)

    async def container_status(self, container_id: str, sandbox_id: str = "") -> CriContainer:
        """Raises NotFound. The status does not include the sandbox: that is set to `sandbox_id`."""
        request = cri.ContainerStatusRequest(container_id=container_id)
        answer = await self._runtime.call(methods.CONTAINER_STATUS, request, self._deadlines.request)
        found = conversion.container_of(answer.status, sandbox_id)
        check_id(found.id, container_id)
        check_state(answer.status.state, _STATES)
        return found

    async def list_containers(
        self, labels: Mapping[str, str] | None = None, sandbox_id: str = ""
    ) -> list[CriContainer]:
        """The containers with all of `labels`, of one sandbox or of all, in any state."""
        selection = cri.ContainerFilter(pod_sandbox_id=sandbox_id, label_selector=labels or {})
        request = cri.ListContainersRequest(filter=selection)
        answer = await self._runtime.call(methods.LIST_CONTAINERS, request, self._deadlines.request)
        listed = distinct(conversion.listed_container(container) for container in answer.containers)
        return [one for one in listed if sandbox_id in ("", one.sandbox_id) and has_labels(one.labels, labels)]

    async def unread_containers(self) -> Sequence[bytes]:
        """All containers, each as an undecoded `Container`, for `node_listing`."""
        answer = await self._runtime.call(
            methods.UNREAD_CONTAINERS, cri.ListContainersRequest(filter=cri.ContainerFilter()), self._deadlines.request
        )
        return answer.items

    async def update_container_resources(
        self,
        container_id: str,
        resources: cri.LinuxContainerResources,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Change the limits of a running container in place."""
        request = cri.UpdateContainerResourcesRequest(
            container_id=container_id, linux=resources, annotations=annotations or {}
        )
        await self._runtime.call(methods.UPDATE_CONTAINER_RESOURCES, request, self._deadlines.request)

    async def reopen_container_log(self, container_id: str) -> None:
        """Make the runtime reopen the log file after a rename."""
        request = cri.ReopenContainerLogRequest(container_id=container_id)
        await self._runtime.call(methods.REOPEN_CONTAINER_LOG, request, self._deadlines.request)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_seconds: int = 0) -> ExecResult:
        """Run a command to its end. A timeout of 0 means no limit. The output has up to 16 MiB: copy the needed part
        before the next await, because the next output is read then.

        Raises DeadlineExceeded when the timeout is over (the command is killed); AnswerTooLarge; another CriError when
        the command cannot be executed.
        """
        check_program(methods.EXEC_SYNC.name, command)
        request = cri.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_seconds)
        answer = await self._outputs.call(methods.EXEC_SYNC, request, self._deadlines.exec_sync(timeout_seconds))
        return ExecResult(answer.exit_code, answer.stdout, answer.stderr)

    async def exec_url(self, request: cri.ExecRequest) -> str:
        """The URL at which the runtime streams this command; valid once and for a short time."""
        check_program(methods.EXEC.name, request.cmd)
        return (await self._runtime.call(methods.EXEC, request, self._deadlines.request)).url

    async def attach_url(self, request: cri.AttachRequest) -> str:
        """The URL at which the runtime streams the container's first process; valid once and for a short time."""
        return (await self._runtime.call(methods.ATTACH, request, self._deadlines.request)).url

    async def checkpoint_container(self, container_id: str, location: str, timeout_seconds: int = 0) -> None:
        """Write a checkpoint archive to `location`. Raises Unimplemented on containerd before 2.0."""
        request = cri.CheckpointContainerRequest(container_id=container_id, location=location, timeout=timeout_seconds)
        deadline = self._deadlines.request + timeout_seconds
        await self._runtime.call(methods.CHECKPOINT_CONTAINER, request, deadline)

    async def container_events(self) -> AsyncIterator[ContainerEvent]:
        """Container events, beginning with those that the runtime has queued. Ends or raises when the runtime stops;
        raises Unimplemented on containerd 1.6. Events may be lost: they only start a relist earlier."""
        async for event in self._runtime.stream(methods.GET_CONTAINER_EVENTS, cri.GetEventsRequest()):
            yield conversion.event_of(event)


def _is_usable(config: cri.ContainerConfig, existing: CriContainer) -> bool:
    """Whether `existing` was created from this config and has not been started."""
    same_hash = existing.annotations.get(CONTAINER_HASH) == config.annotations.get(CONTAINER_HASH)
    return same_hash and existing.state is CriContainerState.CREATED
