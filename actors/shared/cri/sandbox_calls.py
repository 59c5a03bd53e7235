"""The runtime service's calls for sandboxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from actors.shared.kube.names import POD_UID_LABEL
from proto import cri_pb2 as cri

from . import conversion, leftover_tasks, methods
from .adoption import ExistingObject, PollSchedule, create_or_adopt
from .checked_answers import check_id, check_state, distinct, has_labels, id_of
from .deadlines import Deadlines
from .errors import NotFound
from .model import Sandbox
from .transport import Transport

_STATES: Final = frozenset(cri.PodSandboxState.values())


class SandboxCalls:
    """Pod sandboxes. Every call may raise a CriError."""

    _runtime: Transport
    _deadlines: Deadlines
    _polling: PollSchedule

    async def run_pod_sandbox(self, config: cri.PodSandboxConfig, runtime_handler: str = "") -> str:
        """The ID of a ready sandbox, made now or by an earlier create with the same name and attempt.

        Raises NameReserved when the existing sandbox is not ready (the runtime could not clean up after a failure: use
        the next attempt); StillCreating when its creation takes longer than a few seconds.
        """
        request = cri.RunPodSandboxRequest(config=config, runtime_handler=runtime_handler)

        async def create() -> str:
            deadline = self._deadlines.run_pod_sandbox
            return id_of((await self._runtime.call(methods.RUN_POD_SANDBOX, request, deadline)).pod_sandbox_id)

        async def find() -> ExistingObject | None:
            listed = await self.list_pod_sandboxes({POD_UID_LABEL: config.metadata.uid})
            identity = (config.metadata.uid, config.metadata.name, config.metadata.namespace, config.metadata.attempt)
            for one in listed:
                if identity == (one.pod_uid, one.pod_name, one.pod_namespace, one.attempt):
                    return ExistingObject(one.id, one.ready)
            return None

        return await create_or_adopt(create, find, self._polling)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Stop the containers and release the network. No error if the sandbox does not exist."""
        request = cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        try:
            await self._runtime.call(methods.STOP_POD_SANDBOX, request, self._deadlines.request)
        except NotFound:
            return

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove the sandbox and its containers. No error if it does not exist."""
        request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        deadline = self._deadlines.request
        await leftover_tasks.remove(
            self._runtime, methods.REMOVE_POD_SANDBOX, request, deadline, self._polling, ends_starts=True
        )

    async def pod_sandbox_status(self, sandbox_id: str) -> Sandbox:
        """Raises NotFound."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        answer = await self._runtime.call(methods.POD_SANDBOX_STATUS, request, self._deadlines.request)
        found = conversion.sandbox_of(answer.status)
        check_id(found.id, sandbox_id)
        check_state(answer.status.state, _STATES)
        return found

    async def pod_sandbox_image(self, sandbox_id: str) -> str:
        """The image that the sandbox was made of, as the runtime names it; '': it does not say. Raises NotFound."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        answer = await self._runtime.call(methods.POD_SANDBOX_STATUS, request, self._deadlines.request)
        return conversion.sandbox_image(answer.info.get("info", ""))

    async def list_pod_sandboxes(self, labels: Mapping[str, str] | None = None) -> list[Sandbox]:
        """The sandboxes with all of `labels`, ready or not."""
        request = cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector=labels or {}))
        answer = await self._runtime.call(methods.LIST_POD_SANDBOX, request, self._deadlines.request)
        listed = distinct(conversion.listed_sandbox(sandbox) for sandbox in answer.items)
        return [one for one in listed if has_labels(one.labels, labels)]

    async def unread_sandboxes(self) -> Sequence[bytes]:
        """All sandboxes, each as an undecoded `PodSandbox`, for `node_listing`."""
        answer = await self._runtime.call(
            methods.UNREAD_SANDBOXES, cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter()), self._deadlines.request
        )
        return answer.items

    async def port_forward_url(self, sandbox_id: str, ports: Sequence[int] = ()) -> str:
        """The URL at which the runtime streams to ports of this sandbox; valid once and for a short time."""
        request = cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=ports)
        return (await self._runtime.call(methods.PORT_FORWARD, request, self._deadlines.request)).url

    async def update_pod_sandbox_resources(
        self, sandbox_id: str, overhead: cri.LinuxContainerResources, resources: cri.LinuxContainerResources
    ) -> None:
        """Report a change of the pod's cgroup. Raises Unimplemented on containerd up to 2.2."""
        request = cri.UpdatePodSandboxResourcesRequest(
            pod_sandbox_id=sandbox_id, overhead=overhead, resources=resources
        )
        await self._runtime.call(methods.UPDATE_POD_SANDBOX_RESOURCES, request, self._deadlines.request)
