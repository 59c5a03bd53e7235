"""Creates and starts sandboxes and containers: builds their configuration, calls the runtime, translates errors.

One per shard. An error has the waiting reason that users see, and a message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.image_manager.messages import ImageReady
from actors.pleg.messages import PLEG, StartHangs
from actors.pod_workers.containers import dns, files
from actors.pod_workers.containers.api_objects import runtime_handler
from actors.pod_workers.containers.container_config import container_config
from actors.pod_workers.containers.mounts import (
    image_volumes,
)
from actors.pod_workers.containers.names import log_path
from actors.pod_workers.containers.resources import period_of
from actors.pod_workers.containers.sandbox_config import SandboxContext, sandbox_config
from actors.pod_workers.containers.user_namespaces import use_in_container
from actors.pod_workers.errors import ConfigError, StartFailed
from actors.pod_workers.kubernetes_events import pod_event
from actors.pod_workers.phases.actions import Start
from actors.pod_workers.pod.state_values import AcquiredResources
from actors.shared.config.agent import Agent
from actors.shared.cri.adoption import PollSchedule
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, StillCreating, StillStarting, Unavailable
from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.linux.resolv_conf import Dns, parse_resolv_conf
from actors.shared.linux.subordinate_ids import IdRange
from proto import cri_pb2 as cri
from supervision.actor import Actor, AskError
from supervision.errors import error_text

from . import hardware, images, instance_marks
from .container_parts import ContainerParts
from .hooks import HookFailed, PodIp, failure_text, run_hook
from .permit import Permit
from .shard_metrics import ShardMetrics
from .user_ids import ids_of, require_support

UNDER_WAY = PollSchedule(total=1.0)
"""Seconds that a call waits for an earlier start that is under way."""


class ContainerStarter:
    """Starts sandboxes and containers for a shard; `slots` limits the concurrent pods."""

    def __init__(self, actor: Actor, client: CriClient, agent: Agent, slots: int) -> None:
        self._actor, self._client, self._agent = actor, client, agent
        self.metrics = ShardMetrics(actor.metrics)
        self._slots = asyncio.Semaphore(slots)
        self.parts = ContainerParts(actor, client, agent)

    def permit(self) -> Permit:
        return Permit(self._slots, self._actor.after)

    # -- sandbox --------------------------------------------------------------------------------------------------
    def sandbox_config(
        self, pod: Pod, attempt: int, acquired: AcquiredResources, ids: IdRange | None = None
    ) -> cri.PodSandboxConfig:
        """The configuration of the sandbox, which its containers need too. Raises ConfigError."""
        config = self._agent.config
        context = SandboxContext(
            logs_dir=self._agent.pod_logs_dir,
            cgroup_parent=acquired.cgroup_parent,
            dns=dns.pod_dns(pod, self._host_dns(pod), config.clusterDNS, config.clusterDomain),
            cluster_domain=config.clusterDomain,
            cpu_period_us=period_of(config),
            exclusive_cpus=acquired.exclusive_cpus,
            pod_sysctls=config.defaultPodSysctls,
            ids=ids,
        )
        return sandbox_config(pod, attempt, context)

    def _host_dns(self, pod: Pod) -> Dns:
        path = self._agent.config.resolvConf
        if path == "":
            own = dns.is_of_host(pod, self._agent.config.clusterDNS)
            return dns.without_host_file(self._agent.node_ip) if own else Dns()
        try:
            return parse_resolv_conf(Path(path or "/etc/resolv.conf").read_text(errors="replace")[: 10 * 2**20])
        except OSError as error:
            raise ConfigError(f"resolvConf: {path}: {error.strerror}") from None

    def dns_warnings(self, pod: Pod) -> list[tuple[str, str]]:
        """Reason and message of events about the pod's name resolution."""
        config = self._agent.config
        try:
            return dns.warnings(pod, self._host_dns(pod), config.clusterDNS, config.clusterDomain)
        except ConfigError:
            return []  # reported when the sandbox is created

    async def sandbox(self, pod: Pod, attempt: int, acquired: AcquiredResources) -> str:
        """Create the sandbox; return its id. Raises StartFailed."""
        try:
            files.make_log_directory(self._agent.pod_logs_dir, pod)
            handler = await runtime_handler(self._actor, pod, joined=not self._agent.standalone)
            await require_support(self._client, pod, handler)
            config = self.sandbox_config(pod, attempt, acquired, await ids_of(self._actor, pod))
            return await self._run_sandbox(config, handler)
        except (CriError, ConfigError, OSError, ValueError) as error:  # ValueError: a number that CRI cannot carry
            text = error.rpc_text if isinstance(error, CriError) else error_text(error)
            under_way = isinstance(error, StillCreating)
            text = f"Failed to create pod sandbox: {text}"
            unreachable = isinstance(error, Unavailable)
            raise StartFailed("CreatePodSandboxError", text, under_way=under_way, unreachable=unreachable) from None

    async def _run_sandbox(self, config: cri.PodSandboxConfig, handler: str) -> str:
        """Raises CriError."""
        started_at, failed = time.monotonic(), True
        try:
            sandbox_id = await self._client.run_pod_sandbox(config, handler)
            failed = False
        finally:
            self.metrics.sandbox_ran(handler, time.monotonic() - started_at, failed=failed)
        return sandbox_id

    # -- images ---------------------------------------------------------------------------------------------------
    async def image(self, pod: Pod, container: Container) -> ImageReady:
        """Ensure that the images of image volumes are on the node, then the container's own. Raises StartFailed."""
        joined = not self._agent.standalone
        for volume in pod.spec.volumes:
            if volume.image is not None and volume.name in image_volumes(pod, container):
                changed = {"image": volume.image.reference, "imagePullPolicy": volume.image.pullPolicy}
                volume_image = msgspec.structs.replace(container, **changed)
                with self.metrics.image_volume():
                    await images.ensure(self._actor, pod, volume_image, joined=joined, of_volume=True)
        return await images.ensure(self._actor, pod, container, joined=joined)

    # -- containers -----------------------------------------------------------------------------------------------
    async def prepared(self, pod: Pod, container: Container, acquired: AcquiredResources) -> AcquiredResources:
        """The pod's hardware, including what the container gets now. Raises StartFailed."""
        try:
            return await hardware.prepared(self._actor, pod, container.name, acquired)
        except (ConfigError, AskError) as error:
            raise StartFailed("CreateContainerConfigError", str(error)) from None

    async def container(
        self, pod: Pod, start: Start, image: ImageReady, runtime: PodRuntime, acquired: AcquiredResources
    ) -> str:
        """Create and start a container with the hardware in `acquired`; return its id. Raises StartFailed."""
        if not runtime.sandboxes:
            raise StartFailed("CreateContainerError", "its sandbox is gone")
        sandbox = runtime.sandboxes[0]
        try:
            parts = await self.parts.gather(pod, start, image, sandbox.ips, acquired)
            config = await container_config(pod, start, parts)
            target = self._target(start.container, runtime)
            shared = config.linux.security_context.namespace_options
            if target and shared.pid == cri.CONTAINER:  # otherwise it sees the processes of the target anyway
                shared.pid, shared.target_id = cri.TARGET, target
            ids = await ids_of(self._actor, pod)
            use_in_container(config, ids)
            whole = self.sandbox_config(pod, sandbox.attempt, acquired, ids)
            files.make_log_directory(self._agent.pod_logs_dir, pod, start.container.name)
            files.clear_log_place(self._agent.pod_logs_dir, pod, start.container.name, start.restart_count)
        except (ConfigError, CriError, OSError, AskError, ValueError) as error:  # ValueError: as for the sandbox
            raise StartFailed("CreateContainerConfigError", _words(error)) from None
        await self._end_failed_start(runtime.newest(start.container.name))
        try:
            container_id = await self._client.create_container(sandbox.id, config, whole)
        except CriError as error:
            under_way = isinstance(error, StillCreating)
            unreachable = isinstance(error, Unavailable)
            raise StartFailed(
                "CreateContainerError", _words(error), under_way=under_way, unreachable=unreachable
            ) from None
        self._actor.tell(EVENT_CLIENT, pod_event(pod, "Normal", "Created", "Container created", start.container.name))
        await self.start(pod, start.container, container_id, start.restart_count)
        return container_id

    async def _end_failed_start(self, last: CriContainer | None) -> None:
        """End a leftover task of the previous instance. If the client of a failed start died, the process may exist and
        wait to be started."""
        if last is not None and last.state is CriContainerState.EXITED and last.reason == START_ERROR:
            try:
                await self._client.end_lost_task(last.id)
            except CriError as error:
                self._actor.log.warning("cannot end what the failed start of %s left: %s", last.name, error)

    async def start(self, pod: Pod, container: Container, container_id: str, count: int) -> None:
        """Start a container that was created. Raises StartFailed."""
        instance_marks.prepare(self._actor, container, self._agent.pod_dir(pod.metadata.uid), count)
        try:
            files.clear_log_place(self._agent.pod_logs_dir, pod, container.name, count)  # runtimes open it at the start
        except OSError as error:
            raise StartFailed("RunContainerError", error_text(error), container_id=container_id) from None
        try:
            await self._client.start_container(container_id)
        except CriError as error:
            if not await self._has_started(container_id, error):
                under_way = isinstance(error, StillStarting)
                if under_way:
                    self._actor.tell(PLEG, StartHangs(container_id))
                text = _words(error)
                event = text.replace(container_id, container.name)  # equal events are counted as one
                raise StartFailed(
                    "RunContainerError",
                    text,
                    container_id=container_id,
                    event=event,
                    under_way=under_way,
                    unreachable=isinstance(error, Unavailable),
                ) from None
        agent, log = self._agent, log_path(container.name, count)
        try:
            links = agent.container_logs_dir
            files.make_log_link(links, agent.pod_logs_dir, pod, container.name, container_id, log)
        except OSError as error:
            self._actor.log.warning("no link to the log of %s: %s", container.name, error)

    async def _has_started(self, container_id: str, error: CriError) -> bool:
        """Whether the failed call does not matter, because an earlier start, whose caller gave up, has succeeded."""
        for pause in UNDER_WAY.pauses() if isinstance(error, StillStarting) else (0.0,):
            await UNDER_WAY.sleep(pause)
            try:
                if (await self._client.container_status(container_id)).started_ns > 0:
                    return True
            except CriError:
                return False
        return False

    async def post_start(
        self, pod: Pod, container: Container, container_id: str, pod_ip: PodIp, on_fallback: Callable[[str], None]
    ) -> str:
        """Run the container's postStart hook to the end. Returns the error, '' on success. Raises Unavailable if the
        runtime stopped answering meanwhile."""
        hook = container.lifecycle.postStart if container.lifecycle else None
        if hook is None:
            return ""
        try:
            await run_hook(self._client, hook, container_id, pod_ip, container.ports, on_fallback)
        except HookFailed as error:
            return failure_text(hook, container, pod, error)
        return ""

    def _target(self, container: Container, runtime: PodRuntime) -> str:
        """The container whose processes an ephemeral container targets."""
        if not container.targetContainerName:
            return ""
        found: CriContainer | None = runtime.newest(container.targetContainerName)
        if found is None:
            raise ConfigError(f"unable to find target container {container.targetContainerName}")
        return found.id


def _words(error: Exception) -> str:
    """The runtime's own error text, as the kubelet shows it for a container."""
    return error.details or str(error) if isinstance(error, CriError) else error_text(error)
