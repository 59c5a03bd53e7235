"""Creates and starts sandboxes and containers: puts their configuration together, asks the runtime, names the error.

One for each shard. Errors are values: the waiting reason that a user sees, and its message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from actors.api_clients.messages import EVENT_CLIENT
from actors.image_manager.messages import ImageReady
from actors.pod_workers.containers import dns, env_files, files
from actors.pod_workers.containers.api_objects import fetch, runtime_handler
from actors.pod_workers.containers.container_config import Parts, container_config, linux_resources
from actors.pod_workers.containers.environment import EnvContext, environment, references
from actors.pod_workers.containers.host_addresses import host_ips
from actors.pod_workers.containers.machine import thermal_throttles, this_machine
from actors.pod_workers.containers.mounts import (
    Sources,
    expanded_subpath,
    image_volumes,
    read_only_volumes,
    relabelled_volumes,
    volume_mounts,
)
from actors.pod_workers.containers.names import domain, hostname, log_path
from actors.pod_workers.containers.node_support import unsupported_by_agent
from actors.pod_workers.containers.resources import Limits, limits
from actors.pod_workers.containers.sandbox_config import SandboxContext, sandbox_config
from actors.pod_workers.containers.security import container_context
from actors.pod_workers.containers.swap import SwapFields, swap_fields
from actors.pod_workers.errors import ConfigError, StartFailed
from actors.pod_workers.kubernetes_events import pod_event
from actors.pod_workers.phases.actions import Start
from actors.pod_workers.pod.state import Held
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState, PodRuntime
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.volume_manager.messages import VOLUME_MANAGER, BindSubPaths, SubPath, SubPathsBound, VolumesFailed
from proto import cri_pb2 as cri
from supervision.actor import Actor, AskError, Timer

from . import images
from .hooks import HookFailed, PodIp, run_hook
from .shard_metrics import ShardMetrics

ASK_SECONDS = 30.0
PERMIT_SECONDS = 30.0
START_ERROR = "StartError"
"""containerd's reason of a container that could not be started."""


class Permit:
    """One pod's right to start something now. Released while the pod waits for what may take long (a pull, a hook), and
    lost after PERMIT_SECONDS: calls that hang keep no other pod from starting."""

    def __init__(self, slots: asyncio.Semaphore, after: Callable[[float, Callable[[], None]], Timer]) -> None:
        self._slots, self._after = slots, after
        self._end: Timer | None = None

    async def acquire(self) -> None:
        if self._end is None:
            await self._slots.acquire()
            self._end = self._after(PERMIT_SECONDS, self.release)

    def release(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
            self._slots.release()


class ContainerStarter:
    """Starts sandboxes and containers for a shard; `slots` bounds how many pods at once."""

    def __init__(self, actor: Actor, client: CriClient, agent: Agent, slots: int) -> None:
        self._actor, self._client, self._agent = actor, client, agent
        self.metrics = ShardMetrics(actor.metrics)
        self._slots = asyncio.Semaphore(slots)
        self._machine, self._throttles = this_machine(), thermal_throttles()
        self._allocatable: dict[str, int] = {}

    def learn_allocatable(self, amounts: dict[str, int]) -> None:
        """What the node has for pods, which is a container's limit where it has none of its own."""
        self._allocatable = amounts

    def permit(self) -> Permit:
        return Permit(self._slots, self._actor.after)

    # -- sandbox --------------------------------------------------------------------------------------------------
    def sandbox_config(self, pod: Pod, attempt: int, cgroup_parent: str) -> cri.PodSandboxConfig:
        """The configuration of the sandbox, which each container in it needs, too. Raises ConfigError."""
        config = self._agent.config
        around = SandboxContext(
            logs_dir=self._agent.pod_logs_dir,
            cgroup_parent=cgroup_parent,
            dns=dns.pod_dns(pod, self._host_dns(pod), config.clusterDNS, config.clusterDomain),
            cluster_domain=config.clusterDomain,
            cpu_period_us=round(float(config.cpuCFSQuotaPeriod) * 1e6),
            pod_sysctls=config.defaultPodSysctls,
        )
        return sandbox_config(pod, attempt, around)

    def _host_dns(self, pod: Pod) -> dns.Dns:
        path = self._agent.config.resolvConf
        if path == "":
            return dns.NO_HOST_FILE if dns.policy_of(pod) == "Default" else dns.Dns()
        try:
            return dns.parse_resolv_conf(Path(path or "/etc/resolv.conf").read_text(errors="replace")[: 10 * 2**20])
        except OSError as error:
            raise ConfigError(f"resolvConf: {path}: {error.strerror}") from None

    def dns_warnings(self, pod: Pod) -> list[tuple[str, str]]:
        """Reason and message of events about the pod's name resolution."""
        config = self._agent.config
        try:
            return dns.warnings(pod, self._host_dns(pod), config.clusterDNS, config.clusterDomain)
        except ConfigError:
            return []  # said when the sandbox is made

    async def sandbox(self, pod: Pod, attempt: int, cgroup_parent: str) -> str:
        """Make the sandbox; its id. Raises StartFailed."""
        self.metrics.sandbox_begins(pod, attempt)
        try:
            if lacking := unsupported_by_agent(pod):
                raise ConfigError(lacking)
            files.make_log_directory(self._agent.pod_logs_dir, pod)
            handler = await runtime_handler(self._actor, pod, joined=not self._agent.standalone)
            config = self.sandbox_config(pod, attempt, cgroup_parent)
            return await self._run_sandbox(config, handler)
        except (CriError, ConfigError, OSError, ValueError) as error:  # ValueError: a number that CRI cannot carry
            self.metrics.sandbox_failed(pod)
            raise StartFailed("CreatePodSandboxError", f"Failed to create pod sandbox: {error}") from None

    async def _run_sandbox(self, config: cri.PodSandboxConfig, handler: str) -> str:
        """Raises CriError."""
        began, failed = time.monotonic(), True
        try:
            sandbox_id = await self._client.run_pod_sandbox(config, handler)
            failed = False
        finally:
            self.metrics.ran_sandbox(handler, time.monotonic() - began, failed=failed)
        return sandbox_id

    # -- images ---------------------------------------------------------------------------------------------------
    async def image(self, pod: Pod, container: Container) -> ImageReady:
        """Have the image on the node, and those of image volumes. Raises StartFailed."""
        joined = not self._agent.standalone
        found = await images.ensure(self._actor, pod, container, joined=joined)
        for volume in pod.spec.volumes:
            if volume.image is not None and volume.name in image_volumes(pod, container):
                changed = {"image": volume.image.reference, "imagePullPolicy": volume.image.pullPolicy}
                asked = msgspec.structs.replace(container, **changed)
                with self.metrics.image_volume():
                    await images.ensure(self._actor, pod, asked, joined=joined)
        return found

    # -- containers -----------------------------------------------------------------------------------------------
    async def container(self, pod: Pod, start: Start, image: ImageReady, runtime: PodRuntime, held: Held) -> str:
        """Create and start one; its id. Raises StartFailed."""
        if not runtime.sandboxes:
            raise StartFailed("CreateContainerError", "its sandbox is gone")
        sandbox = runtime.sandboxes[0]
        try:
            parts = await self._parts(pod, start, image, sandbox.ips, held)
            config = container_config(pod, start, parts)
            target = self._target(start.container, runtime)
            if target:
                config.linux.security_context.namespace_options.pid = cri.TARGET
                config.linux.security_context.namespace_options.target_id = target
            whole = self.sandbox_config(pod, sandbox.attempt, held.cgroup_parent)
        except (ConfigError, CriError, OSError, AskError, ValueError) as error:  # ValueError: as for the sandbox
            raise StartFailed("CreateContainerConfigError", str(error)) from None
        await self._end_failed_start(runtime.newest(start.container.name))
        try:
            container_id = await self._client.create_container(sandbox.id, config, whole)
        except CriError as error:
            raise StartFailed("CreateContainerError", str(error)) from None
        self._actor.tell(EVENT_CLIENT, pod_event(pod, "Normal", "Created", "Container created", start.container.name))
        await self.start(pod, start.container, container_id, start.restart_count)
        return container_id

    async def _end_failed_start(self, last: Ran | None) -> None:
        """End what the previous instance left: its start failed, perhaps as the one who asked for it went away, and
        then its process may be there, waiting to be started."""
        if last is not None and last.state is ContainerState.EXITED and last.reason == START_ERROR:
            try:
                await self._client.end_lost_task(last.id)
            except CriError as error:
                self._actor.log.warning("what the failed start of %s left is not ended: %s", last.name, error)

    async def start(self, pod: Pod, container: Container, container_id: str, count: int) -> None:
        """Start a container that was created. Raises StartFailed."""
        try:
            await self._client.start_container(container_id)
        except CriError as error:
            raise StartFailed("RunContainerError", str(error), container_id=container_id) from None
        agent, log = self._agent, log_path(container.name, count)
        try:
            links = agent.container_logs_dir
            files.make_log_link(links, agent.pod_logs_dir, pod, container.name, container_id, log)
        except OSError as error:
            self._actor.log.warning("no link to the log of %s: %s", container.name, error)

    async def post_start(self, container: Container, container_id: str, pod_ip: PodIp) -> str:
        """Run its hook, however long that takes. Answers why it failed, '' if it did not. Raises Unavailable when the
        runtime went away meanwhile."""
        hook = container.lifecycle.postStart if container.lifecycle else None
        if hook is None:
            return ""
        try:
            await run_hook(self._client, hook, container_id, pod_ip, container.ports)
        except HookFailed as error:
            return str(error)
        return ""

    async def _parts(self, pod: Pod, start: Start, image: ImageReady, ips: list[str], held: Held) -> Parts:
        agent, container = self._agent, start.container
        own_ips, objects = await asyncio.gather(
            host_ips(self._actor, agent, pod, container),
            fetch(self._actor, pod, references(container), joined=not agent.standalone),
        )
        pod_ips = own_ips if pod.spec.hostNetwork else ips
        around = EnvContext(
            node_name=agent.node_name,
            host_ips=own_ips,
            pod_ips=pod_ips,
            allocatable=self._allocatable,
            files=env_files.read(env_files.selectors(container), held.volumes),
        )
        found = environment(pod, container, around, objects)
        for text in found.skipped:
            told = pod_event(pod, "Warning", "InvalidEnvironmentVariableNames", text, container.name)
            self._actor.tell(EVENT_CLIENT, told)
        values = found.values
        security = container_context(
            pod,
            container,
            (image.user_uid, image.username),
            seccomp_default=agent.seccomp_default,
            seccomp_dir=agent.seccomp_dir,
        )
        if security.masked_paths:
            security.masked_paths.extend(self._throttles)
        swap = self._swap(pod, container)
        return Parts(
            image_ref=image.image_ref,
            environment=values,
            mounts=await self._mounts(pod, start, values, pod_ips, held),
            limits=self._limits(pod, container),
            security=security,
            stop_signals=agent.gate("ContainerStopSignals"),
            unified={**swap.unified, **self._oom_group()},
            memory_swap_bytes=swap.memory_swap_bytes,
        )

    def _limits(self, pod: Pod, container: Container) -> Limits:
        config = self._agent.config
        period = round(float(config.cpuCFSQuotaPeriod) * 1e6)
        return limits(pod, container, self._machine, enforce_quota=config.cpuCFSQuota, period_us=period)

    def _swap(self, pod: Pod, container: Container) -> SwapFields:
        return swap_fields(pod, container, self._agent.config.memorySwap.swapBehavior, self._machine)

    def may_swap(self, pod: Pod, name: str) -> bool:
        """Whether the kernel may swap out memory of that container (cgroup v2)."""
        container = find_container(pod, name)
        swap = self._swap(pod, container).unified if container is not None else {}
        return any(value != "0" for value in swap.values())

    def resources(self, pod: Pod, container: Container) -> cri.LinuxContainerResources:
        """The resources that a running container is resized to."""
        swap = self._swap(pod, container)
        return linux_resources(self._limits(pod, container), swap.unified, swap.memory_swap_bytes)

    def _oom_group(self) -> dict[str, str]:
        """Whether the OOM killer ends all processes of a container together, or one (cgroup v2)."""
        together = self._machine.cgroup_v2 and not self._agent.config.singleProcessOOMKill
        return {"memory.oom.group": "1"} if together else {}

    async def _mounts(
        self, pod: Pod, start: Start, values: dict[str, str], ips: list[str], held: Held
    ) -> list[cri.Mount]:
        container, uid = start.container, pod.metadata.uid
        pod_dir = self._agent.pod_dir(uid)
        images_of = image_volumes(pod, container)
        sources = Sources(
            paths=held.volumes,
            subpaths=await self._subpaths(pod, container, values, held),
            images={name: await self._image_id(reference) for name, reference in images_of.items()},
            read_only=read_only_volumes(pod),
            recursive_read_only=await self._recursive_read_only(pod, container),
            relabelled=relabelled_volumes(pod, held.volumes) if self._machine.selinux else frozenset(),
        )
        mounts = volume_mounts(container, sources)
        mounted = {mount.container_path for mount in mounts}
        if "/etc/hosts" not in mounted:
            hosts = files.write_hosts(pod_dir, self._hosts(pod, ips))
            mounts.append(self._file("/etc/hosts", hosts))
        if container.terminationMessagePath and container.terminationMessagePath not in mounted:
            last_words = files.make_termination_log(pod_dir, container, start.restart_count)
            mounts.append(self._file(container.terminationMessagePath, last_words))
        return mounts

    def _file(self, path: str, made: str) -> cri.Mount:
        """The mount of a file that was made for the container."""
        return cri.Mount(container_path=path, host_path=made, selinux_relabel=self._machine.selinux)

    def _hosts(self, pod: Pod, ips: list[str]) -> str:
        if pod.spec.hostNetwork:
            try:
                host = Path("/etc/hosts").read_text(errors="replace")
            except OSError:
                host = ""
            return dns.host_network_hosts_file(host, pod.spec.hostAliases)
        own = domain(pod, self._agent.config.clusterDomain)
        return dns.hosts_file(ips, hostname(pod), own, pod.spec.hostAliases)

    async def _image_id(self, reference: str) -> str:
        """The id of an image that was pulled for this container."""
        found = await self._client.image_status(reference)
        return found.id if found is not None else reference

    async def _recursive_read_only(self, pod: Pod, container: Container) -> bool:
        """Whether the runtime supports it; asked only where a mount wants it."""
        if not any(mount.recursiveReadOnly not in (None, "Disabled") for mount in container.volumeMounts):
            return False
        name = await runtime_handler(self._actor, pod, joined=not self._agent.standalone)
        handler = (await self._client.status()).handler(name)
        return handler is not None and handler.recursive_read_only_mounts

    async def _subpaths(self, pod: Pod, container: Container, values: dict[str, str], held: Held) -> dict[int, str]:
        items = [
            SubPath(mount.name, path, index, mount.readOnly)
            for index, mount in enumerate(container.volumeMounts)
            if mount.name in held.volumes
            if (path := expanded_subpath(mount, values))
        ]
        if not items:
            return {}
        question = BindSubPaths(pod.metadata.uid, container.name, items, encode(pod))
        answer = await self._actor.ask(VOLUME_MANAGER, question, timeout=ASK_SECONDS)
        if isinstance(answer, SubPathsBound):
            return answer.paths
        raise ConfigError(answer.message if isinstance(answer, VolumesFailed) else "no answer about sub paths")

    def _target(self, container: Container, runtime: PodRuntime) -> str:
        """The container whose processes an ephemeral one wants to see."""
        if not container.targetContainerName:
            return ""
        found: Ran | None = runtime.newest(container.targetContainerName)
        if found is None:
            raise ConfigError(f"target container {container.targetContainerName!r} is not running")
        return found.id
