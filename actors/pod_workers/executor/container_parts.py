"""Collects everything that a container is created from: environment, mounts, limits, security."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Mapping
from pathlib import Path

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.image_manager.messages import ImageReady
from actors.pod_workers.containers import dns, env_files, files
from actors.pod_workers.containers.api_objects import fetch, runtime_handler
from actors.pod_workers.containers.container_config import Parts, linux_resources
from actors.pod_workers.containers.environment import EnvContext, environment, references
from actors.pod_workers.containers.host_ips import host_ips
from actors.pod_workers.containers.machine import thermal_throttles, this_machine
from actors.pod_workers.containers.memory_qos import TIERED, MemoryQos
from actors.pod_workers.containers.memory_qos import unified as unified_memory
from actors.pod_workers.containers.mounts import (
    MountSources,
    absolute,
    expanded_subpath,
    image_volumes,
    read_only_volumes,
    relabelled_volumes,
    volume_devices,
    volume_mounts,
)
from actors.pod_workers.containers.names import domain, hostname
from actors.pod_workers.containers.resources import LinuxContainerResources, limits, period_of
from actors.pod_workers.containers.security import container_context
from actors.pod_workers.containers.swap import SwapFields, swap_fields
from actors.pod_workers.errors import ConfigError
from actors.pod_workers.kubernetes_events import pod_event
from actors.pod_workers.phases.actions import Start
from actors.pod_workers.pod.state_values import AcquiredResources
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.hardware.allocation import NOTHING, ContainerAllocation, combined
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container
from actors.shared.kube.node_addresses import pod_ips_of_sandbox
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.volume_manager.messages import VOLUME_MANAGER, BindSubPaths, SubPath, SubPathsBound, VolumesFailed
from proto import cri_pb2 as cri
from supervision.actor import Actor, DisposableError

from .hardware import claimed_devices, require_cdi

ASK_SECONDS = 30.0
FILE_SECONDS = 10.0
_READ_FILES = "actors.pod_workers.containers.env_files:read"


class ContainerParts:
    """Collects the parts of a shard's containers."""

    def __init__(self, actor: Actor, client: CriClient, agent: Agent) -> None:
        self._actor, self._client, self._agent = actor, client, agent
        self._machine, self._throttles = this_machine(), thermal_throttles()
        self._allocatable: dict[str, int] = {}
        self._pods_memory = 0

    def learn_allocatable(self, amounts: dict[str, int], pods_memory: int) -> None:
        """Set the node's allocatable amounts, by resource: they replace a missing limit in the downward API. And the
        bytes that all pods may have, which replace it in memory.high, as in the kubelet."""
        self._allocatable, self._pods_memory = amounts, pods_memory

    async def gather(
        self, pod: Pod, start: Start, image: ImageReady, ips: list[str], acquired: AcquiredResources
    ) -> Parts:
        """Raises ConfigError, CriError, OSError, AskError, ValueError."""
        agent, container = self._agent, start.container
        own_ips, objects, claimed = await asyncio.gather(
            host_ips(self._actor, agent, pod, container),
            fetch(self._actor, pod, references(container), joined=not agent.standalone),
            claimed_devices(self._actor, pod, container.name),
        )
        devices = combined([claimed, acquired.containers.get(container.name, NOTHING)])
        await require_cdi(self._client, devices)
        pod_ips = own_ips if pod.spec.hostNetwork else pod_ips_of_sandbox(ips, agent.node_ip)
        context = EnvContext(
            node_name=agent.node_name,
            host_ips=own_ips,
            pod_ips=pod_ips,
            allocatable=self._allocatable,
            files=await self._env_files(container, acquired.volumes),
        )
        found = environment(pod, container, context, objects)
        for text in found.skipped:
            event = pod_event(pod, "Warning", "InvalidEnvironmentVariableNames", text, container.name)
            self._actor.tell(EVENT_CLIENT, event)
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
            mounts=await self._mounts(pod, start, values, pod_ips, acquired),
            volume_devices=volume_devices(container, acquired.volumes, read_only_volumes(pod)),
            limits=self._limits(pod, container),
            hardware=devices,
            security=security,
            stop_signals=agent.gate("ContainerStopSignals"),
            unified={**swap.unified, **self._oom_group(), **self._memory_qos(pod, container)},
            memory_swap_bytes=swap.memory_swap_bytes,
        )

    async def _env_files(self, container: Container, volumes: Mapping[str, str]) -> env_files.Files:
        """Raises ConfigError."""
        places = env_files.places(env_files.selectors(container), volumes)
        if not places:
            return {}
        try:
            files = list(places.values())
            found = await self._actor.disposable(_READ_FILES, {"files": files}, deadline=FILE_SECONDS)
        except DisposableError as error:
            raise ConfigError(f"env files cannot be read: {error}") from None
        return dict(zip(places, map(env_files.received, found), strict=True))

    def _limits(self, pod: Pod, container: Container) -> LinuxContainerResources:
        return limits(pod, container, self._machine, period_us=period_of(self._agent.config))

    def _swap(self, pod: Pod, container: Container) -> SwapFields:
        return swap_fields(pod, container, self._agent.config.memorySwap.swapBehavior, self._machine)

    def may_swap(self, pod: Pod, name: str) -> bool:
        """Whether the kernel may swap out memory of that container (cgroup v2)."""
        container = find_container(pod, name)
        swap = self._swap(pod, container).unified if container is not None else {}
        return any(value != "0" for value in swap.values())

    def resources(self, pod: Pod, container: Container, hardware: ContainerAllocation) -> cri.LinuxContainerResources:
        """The resources for the resize of a running container."""
        swap = self._swap(pod, container)
        # removes the previous value, also that of an agent that ran with the gate MemoryQoS
        before = {"memory.high": "max"} if self._machine.cgroup_v2 else {}
        unified = {**swap.unified, **before, **self._memory_qos(pod, container)}
        return linux_resources(self._limits(pod, container), unified, swap.memory_swap_bytes, hardware)

    @property
    def _throttles_memory(self) -> bool:
        return self._machine.cgroup_v2 and self._agent.gate("MemoryQoS")

    def _memory_qos(self, pod: Pod, container: Container) -> dict[str, str]:
        config = self._agent.config
        if not self._throttles_memory:
            return {}
        qos = MemoryQos(
            throttling=config.memoryThrottlingFactor or 0.0,
            tiered=config.memoryReservationPolicy == TIERED,
            allocatable=self._pods_memory or self._machine.memory,
            page_bytes=resource.getpagesize(),
        )
        return unified_memory(pod, container, self._limits(pod, container).memory_bytes, qos)

    def _oom_group(self) -> dict[str, str]:
        """Whether the OOM killer kills all processes of a container, or only one (cgroup v2)."""
        together = self._machine.cgroup_v2 and not self._agent.config.singleProcessOOMKill
        return {"memory.oom.group": "1"} if together else {}

    async def _mounts(
        self, pod: Pod, start: Start, values: dict[str, str], ips: list[str], acquired: AcquiredResources
    ) -> list[cri.Mount]:
        container, uid = start.container, pod.metadata.uid
        pod_dir = self._agent.pod_dir(uid)
        images_of = image_volumes(pod, container)
        sub_paths = {
            index: path
            for index, mount in enumerate(container.volumeMounts)
            if (path := expanded_subpath(mount, values))
        }
        sources = MountSources(
            paths=acquired.volumes,
            subpaths=await self._subpaths(pod, container, sub_paths, acquired),
            image_paths=sub_paths,
            images={name: await self._image(pod, reference) for name, reference in images_of.items()},
            read_only=read_only_volumes(pod),
            recursive_read_only=await self._recursive_read_only(pod, container),
            relabelled=relabelled_volumes(pod, acquired.volumes) if self._machine.selinux else frozenset(),
        )
        mounts = volume_mounts(container, sources)
        mounted = {mount.container_path for mount in mounts}
        if "/etc/hosts" not in mounted:
            hosts = files.write_hosts(pod_dir, self._hosts(pod, ips))
            mounts.append(self._file("/etc/hosts", hosts))
        message_path = absolute(container.terminationMessagePath) if container.terminationMessagePath else ""
        if message_path and message_path not in mounted:
            termination_log = files.make_termination_log(pod_dir, container, start.restart_count)
            mounts.append(self._file(message_path, termination_log))
        return mounts

    def _file(self, path: str, made: str) -> cri.Mount:
        """The mount of a generated file."""
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

    async def _image(self, pod: Pod, reference: str) -> cri.ImageSpec:
        """An image that was pulled for a volume of this pod."""
        found = await self._client.image_status(reference)
        return cri.ImageSpec(
            image=found.id if found is not None else reference,
            user_specified_image=reference,
            runtime_handler=await runtime_handler(self._actor, pod, joined=not self._agent.standalone),
            annotations=pod.metadata.annotations,
        )

    async def _recursive_read_only(self, pod: Pod, container: Container) -> bool:
        """Whether the runtime supports it; asked only if a mount needs it."""
        if not any(mount.recursiveReadOnly not in (None, "Disabled") for mount in container.volumeMounts):
            return False
        name = await runtime_handler(self._actor, pod, joined=not self._agent.standalone)
        handler = (await self._client.status()).handler(name)
        return handler is not None and handler.recursive_read_only_mounts

    async def _subpaths(
        self, pod: Pod, container: Container, paths: Mapping[int, str], acquired: AcquiredResources
    ) -> dict[int, str]:
        """Host path by index in volumeMounts; none for image volumes, which are the runtime's."""
        mounts = container.volumeMounts
        items = [
            SubPath(mounts[index].name, path, index, mounts[index].readOnly)
            for index, path in paths.items()
            if mounts[index].name in acquired.volumes
        ]
        if not items:
            return {}
        question = BindSubPaths(pod.metadata.uid, container.name, items, encode(pod))
        answer = await self._actor.ask(VOLUME_MANAGER, question, timeout=ASK_SECONDS)
        if isinstance(answer, SubPathsBound):
            return answer.paths
        raise ConfigError(answer.message if isinstance(answer, VolumesFailed) else "no answer about sub paths")
