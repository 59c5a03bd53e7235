"""Reads the usage of pods: memory and processes from cgroups, which never block; disks in a disposable process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pod import Pod
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats import pod_cgroups
from actors.shared.stats.cgroup_usage import working_set
from actors.shared.stats.pod_disks import PodDisks
from actors.status_manager.messages import STATUS_MANAGER, ActivePod, GetActivePods, all_pages
from supervision.actor import Actor, AskError, DisposableError
from supervision.time_scale import scaled

from .resources import PIDS, disk_of
from .shared_disks import SharedDisks, volume_period
from .usage import ContainerUsage, DiskUsage, PodUsage
from .writable_layers import WritableLayers

ASK_SECONDS: Final = 5.0
_AT_ONCE: Final = 32


class RunningPod(msgspec.Struct, frozen=True):
    """A pod that has not ended."""

    pod: Pod
    containers: dict[str, str]
    """ID of the newest container of each name; the container may have ended."""

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid


class UsageReader:
    """`runtime`: client for the figures of writable layers; by default one is made on first use. `clock`: seconds,
    monotonic."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        tree: CgroupTree,
        clock: Callable[[], float],
        runtime: CriClient | None = None,
    ) -> None:
        self._actor, self._agent, self._tree, self._client = actor, agent, tree, runtime
        self._layers = WritableLayers(actor.log)
        disposable = actor.disposable
        measures = PodDisks(
            lambda function, arguments, deadline: disposable(function, arguments, deadline=deadline), actor.log
        )
        self.shared_disks = SharedDisks(measures, volume_period(agent), clock)

    async def pods(self) -> list[RunningPod] | None:
        """The usage of all pods; None when the pods are unknown."""
        try:
            pages = await all_pages(
                lambda after: self._actor.ask(STATUS_MANAGER, GetActivePods(after), timeout=ASK_SECONDS)
            )
        except AskError as error:
            self._actor.log.warning("the pods of the node are unknown: %s", error)
            return None
        return [active for page in pages for one in page.pods if (active := _read(one)) is not None]

    async def of(self, signal: str, pods: Iterable[RunningPod]) -> dict[str, PodUsage] | None:
        """Each pod's usage of the signal's resource, by UID; None if it cannot be measured."""
        if disk_of(signal):
            return await self.disks(pods)
        return await (self.processes(pods) if signal == PIDS else self.memory(pods))

    async def memory(self, pods: Iterable[RunningPod]) -> dict[str, PodUsage]:
        """The memory of each pod that has a cgroup, by UID."""

        def read(path: str) -> PodUsage:
            return PodUsage(memory=working_set(self._tree, path))

        return await self._by_cgroup(pods, read)

    async def processes(self, pods: Iterable[RunningPod]) -> dict[str, PodUsage]:
        """The processes of each pod that has a cgroup, by UID. As in the kubelet a process counts once, however many
        tasks it has."""

        def read(path: str) -> PodUsage:
            return PodUsage(processes=len(self._tree.processes(path)))

        return await self._by_cgroup(pods, read)

    async def _by_cgroup(self, pods: Iterable[RunningPod], read: Callable[[str], PodUsage]) -> dict[str, PodUsage]:
        places, usages = pod_cgroups.find(self._tree, self._agent.config.cgroupRoot).pods, dict[str, PodUsage]()
        for count, pod in enumerate(pods):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            if pod.uid in places:
                usage = read(places[pod.uid].path)
                if usage != PodUsage():
                    usages[pod.uid] = usage
        return usages

    def with_containers(self, pod: RunningPod, usage: PodUsage) -> PodUsage:
        """`usage` with the memory of the pod's containers."""
        place = pod_cgroups.find(self._tree, self._agent.config.cgroupRoot).pods.get(pod.uid)
        inner = place.containers if place is not None else {}
        containers = {
            name: ContainerUsage(memory=working_set(self._tree, inner[id_]))
            for name, id_ in pod.containers.items()
            if id_ in inner
        }
        return msgspec.structs.replace(usage, containers=containers)

    async def disks(self, pods: Iterable[RunningPod], *, volumes: bool = True) -> dict[str, PodUsage] | None:
        """Disk usage of each pod by UID; None when it cannot be measured. `volumes`: False leaves theirs out."""
        pods, agent = list(pods), self._agent
        places = []
        for pod in pods:
            meta = pod.pod.metadata
            logs = f"{agent.pod_logs_dir}/{meta.namespace}_{meta.name}_{meta.uid}"
            places.append([meta.uid, agent.pod_dir(meta.uid), logs])
        layers = await self._layers.read(self._runtime(), [pod.uid for pod in pods])
        if layers is None:
            return None
        measure = self.shared_disks.measure if volumes else self.shared_disks.measure_logs
        try:
            measured = await measure(places)
        except DisposableError as error:
            self._actor.log.warning("cannot measure the disk usage of the pods: %s", error)
            return None
        return {pod.uid: disk_usage(pod, measured[pod.uid], layers) for pod in pods}

    async def container_name(self, pod: RunningPod, container_id: str) -> str:
        """Empty if unknown. A container that has just started, or was replaced, only the runtime knows."""
        name = next((name for name, id_ in pod.containers.items() if id_ == container_id), "")
        if name or not container_id:
            return name
        try:
            async with asyncio.timeout(scaled(ASK_SECONDS)):
                return (await self._runtime().container_status(container_id)).name
        except (CriError, TimeoutError) as error:
            self._actor.log.warning("container %s is unknown: %s", container_id, str(error) or "no answer in time")
            return ""

    async def free_removed_space(self) -> None:
        """Have the runtime free the space of removed containers, which it may otherwise do much later."""
        try:
            await self._runtime().free_removed_space()
        except CriError as error:
            self._actor.log.warning("the space of removed containers may not be free yet: %s", error)

    def _runtime(self) -> CriClient:
        if self._client is None:
            agent = self._agent
            seconds = float(agent.config.runtimeRequestTimeout)
            self._client = CriClient(agent.runtime_endpoint, request_seconds=seconds, metrics=self._actor.metrics)
        return self._client


def disk_usage(pod: RunningPod, measured: Mapping[str, Any], layers: Mapping[str, DiskUsage]) -> PodUsage:
    """The figures of `measure_pods` for a pod, with the writable layers of its containers. Pure."""
    logs = {name: _disk_usage(one) for name, one in measured["logs"].items()}
    return PodUsage(
        containers={
            name: ContainerUsage(
                rootfs=layers.get(pod.containers.get(name, ""), DiskUsage()), logs=logs.get(name, DiskUsage())
            )
            for name in {**logs, **pod.containers}
        },
        volumes={name: _disk_usage(one) for name, one in measured["volumes"].items()},
        own=_disk_usage(measured["own"]),
    )


def _disk_usage(measured: Mapping[str, int]) -> DiskUsage:
    return DiskUsage(measured["used_bytes"], measured["inodes_used"])


def _read(active: ActivePod) -> RunningPod | None:
    try:
        return RunningPod(decode_pod(active.pod), active.containers)
    except ObjectError:
        return None
