"""Takes samples of usage figures on demand, and caches each for a while.

Cgroups and /proc are read here, a few at a time, because these reads never block; disks may block (`disk_usage`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox
from actors.shared.cri.stats import ContainerStats
from actors.shared.linux.cgroup_names import plain_path
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.cgroup_tree import find as find_cgroups
from supervision.time_scale import scaled

from . import host, pod_cgroups
from .cgroup_usage import CgroupUsage, read
from .cpu_rates import CpuRates
from .disk_usage import DiskUsageCollector
from .own_cgroup import own_cgroup
from .processes import ProcessStats, count_of, processes_of
from .sample import CgroupSample, ContainerSample, Network, PodSample, UsageSample, usage_of
from .sandbox_images import SandboxImages

KEPT_SECONDS: Final = 10.0
FIRST_RATE_SECONDS: Final = 0.2
"""The time between the two looks at a cgroup that has no rate yet."""
STATS_SECONDS: Final = 3.0
"""How long a sample waits for what the runtime knows of containers."""
_AT_ONCE: Final = 16
RunningPods = list[tuple[Sandbox, list[CriContainer]]]
"""The ready sandboxes, one per pod, each with its running containers."""


class _Groups(NamedTuple):
    """The cgroups above the pods' cgroups, and beside them."""

    root: CgroupSample
    tiers: list[CgroupSample]
    system: dict[str, CgroupSample]

    def all(self) -> list[CgroupSample]:
        return [self.root, *self.tiers, *self.system.values()]


class Collector:
    """`runtime`: a client of the runtime, for the list of pods. `disks` adds what the samples say of disks. `clock`:
    seconds, monotonic, of ages."""

    def __init__(
        self,
        agent: Agent,
        runtime: CriClient,
        disks: DiskUsageCollector,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agent, self._runtime, self._disks, self._clock = agent, runtime, disks, clock
        self._tree: CgroupTree | None = None
        self._cached: tuple[float, UsageSample] | None = None
        self._sampling: asyncio.Task[UsageSample] | None = None
        self._stats_call: asyncio.Future[dict[str, ContainerStats]] | None = None
        self._rates = CpuRates()
        self._images = SandboxImages(runtime)

    async def sample(self, most_seconds: float = KEPT_SECONDS, *, disks: bool = True) -> UsageSample:
        """A sample that is at most `most_seconds` old, and has all containers that run. Raises CriError.

        Without `disks` it does not wait for them.
        """
        running = await self._running()
        cached = self._cached
        if cached is None or self._clock() - cached[0] > most_seconds or _is_incomplete(cached[1], running):
            found = await self._new_sample(running)
        else:
            found = cached[1]
        if disks:
            await self._disks.measure(found)
        return self._disks.with_disks(found)

    async def _new_sample(self, running: RunningPods) -> UsageSample:
        """Take a sample, or wait for the one that is being taken, if that has all containers that run."""
        while self._sampling is not None and not self._sampling.done():
            found = await asyncio.shield(self._sampling)
            if not _is_incomplete(found, running):
                return found
        self._sampling = asyncio.ensure_future(self._collect(running))
        return await asyncio.shield(self._sampling)

    # -- cgroups, processes, the runtime ---------------------------------------------------------------------------
    async def _running(self) -> RunningPods:
        sandboxes, containers = await asyncio.gather(
            self._runtime.list_pod_sandboxes(), self._runtime.list_containers()
        )
        inside: dict[str, list[CriContainer]] = {}
        for container in containers:
            if container.state is CriContainerState.RUNNING:
                inside.setdefault(container.sandbox_id, []).append(container)
        return [(sandbox, inside.get(sandbox.id, [])) for sandbox in newest(sandboxes)]

    async def _collect(self, running: RunningPods) -> UsageSample:
        stats = await self._container_stats()
        self._places = pod_cgroups.find(self.tree, self._agent.config.cgroupRoot)
        groups, found = self._groups(), await self._pods(running, stats)
        again = [one for one, pod in zip(running, found, strict=True) if not all(map(_has_rate, _parts(pod)))]
        if again or not all(map(_has_rate, groups.all())):
            # new cgroups are read twice, so that a reader that asks once gets a rate, too
            await asyncio.sleep(FIRST_RATE_SECONDS)
            groups = self._groups()
            newer = {pod.sandbox.id: pod for pod in await self._pods(again, stats)}
            found = [newer.get(pod.sandbox.id, pod) for pod in found]
        now = time.time()
        sample = UsageSample(
            at=now,
            host=host.read(now),
            root=groups.root,
            tiers=groups.tiers,
            system=groups.system,
            pods=found,
        )
        self._cached = (self._clock(), sample)
        self._rates.forget_old(now)
        return sample

    def _groups(self) -> _Groups:
        return _Groups(
            self._measure("/", self._read("/")),
            [self._measure_group(path) for path in self._places.tiers],
            self._system(),
        )

    async def _container_stats(self) -> dict[str, ContainerStats]:
        """The runtime's figures by container; {} if it does not answer in time: then only the sizes of writable layers
        are unknown. While one shim hangs, the runtime answers for no container, so this waits for STATS_SECONDS only,
        and for one call at a time; a late answer is not used."""
        if self._stats_call is not None and not self._stats_call.done():
            return {}
        self._stats_call = asyncio.ensure_future(self._list_container_stats())
        await asyncio.wait({self._stats_call}, timeout=scaled(STATS_SECONDS))
        return self._stats_call.result() if self._stats_call.done() else {}

    async def _list_container_stats(self) -> dict[str, ContainerStats]:
        try:
            return {stats.id: stats for stats in await self._runtime.list_container_stats()}
        except CriError:
            return {}

    async def _pods(self, running: RunningPods, stats: dict[str, ContainerStats]) -> list[PodSample]:
        found = []
        for count, (sandbox, containers) in enumerate(running):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            found.append(self._pod(sandbox, containers, stats))
        return found

    def _pod(self, sandbox: Sandbox, containers: list[CriContainer], stats: dict[str, ContainerStats]) -> PodSample:
        place = self._places.pods.get(sandbox.pod_uid)
        inner = place.containers if place is not None else {}
        own = inner.get(sandbox.id, "")
        return PodSample(
            sandbox=sandbox,
            measured=self._measure(place.path, self._read(place.path)) if place is not None else None,
            sandbox_measured=self._measure(own, self._read(own)) if own else None,
            containers=[self._container(one, inner.get(one.id, ""), stats.get(one.id)) for one in containers],
            network=self._network(
                [inner[id_] for id_ in (sandbox.id, *(one.id for one in containers)) if id_ in inner]
            ),
        )

    def _container(self, container: CriContainer, path: str, stats: ContainerStats | None) -> ContainerSample:
        if path:
            measured = self._measure(path, self._read(path))
        else:
            now = time.time()
            usage = usage_of(stats, now) if stats is not None else CgroupUsage(at=now)
            measured = self._measure(f"/{container.id}", usage)
        return ContainerSample(container, measured, stats.writable_layer if stats is not None else None)

    def _network(self, cgroups: list[str]) -> Network | None:
        """The network of a pod: of its sandbox, or of its containers if the sandbox has no process, only a cgroup, as
        with CRI-O. None: it is the node's, or not visible."""
        pid = next((pid for cgroup in cgroups if (pid := pod_cgroups.first_process(self.tree, cgroup))), 0)
        try:
            if not pid or os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                return None
        except OSError:
            return None
        return Network(*host.network_of(pid))

    def _system(self) -> dict[str, CgroupSample]:
        config = self._agent.config
        wanted = {
            "kubelet": config.kubeletCgroups or own_cgroup(),
            "runtime": str(self._agent.flags.get("runtime-cgroups") or ""),
            "misc": config.systemCgroups,
        }
        found = {}
        for name, given in wanted.items():
            path = plain_path(given)
            with suppress(OSError):  # its figures are left out
                if path != "/" and self.tree.anywhere(path):
                    found[name] = self._measure_group(path)
        return found

    def _measure_group(self, path: str) -> CgroupSample:
        """A cgroup of the node itself."""
        return msgspec.structs.replace(self._measure(path, self._read(path)), created=self.tree.created(path))

    @property
    def tree(self) -> CgroupTree:
        if self._tree is None:
            self._tree = find_cgroups()
        return self._tree

    def _read(self, path: str) -> CgroupUsage:
        return read(self.tree, "" if path == "/" else path)

    def _measure(self, path: str, usage: CgroupUsage) -> CgroupSample:
        return CgroupSample(path, usage, self._rates.rate_of(path, usage))

    async def processes(self, sample: UsageSample) -> dict[str, ProcessStats]:
        """The current processes of containers and sandboxes, by cgroup."""
        found: dict[str, ProcessStats] = {}
        for count, path in enumerate(_cgroups(sample)):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            found[path] = processes_of(self.tree, path)
        return found

    async def sandbox_images(self, sample: UsageSample) -> dict[str, str]:
        """By the ID of the sandbox, as far as the runtime tells."""
        return await self._images.of(pod.sandbox.id for pod in sample.pods if pod.sandbox_measured is not None)

    def process_count(self, sample: UsageSample) -> dict[str, int]:
        """The current number of processes in each pod's containers, by UID; as in the kubelet, without its sandbox."""
        return {
            pod.sandbox.pod_uid: sum(count_of(self.tree, one.measured.path) for one in pod.containers)
            for pod in sample.pods
        }


def _parts(pod: PodSample) -> list[CgroupSample]:
    own = (pod.measured, pod.sandbox_measured)
    return [one for one in own if one is not None] + [one.measured for one in pod.containers]


def _is_incomplete(sample: UsageSample, running: RunningPods) -> bool:
    """Whether a container runs, or a sandbox is ready, that the sample lacks."""
    sampled = {pod.sandbox.id: {one.container.id for one in pod.containers} for pod in sample.pods}
    return any(
        sandbox.id not in sampled or not {one.id for one in inside} <= sampled[sandbox.id]
        for sandbox, inside in running
    )


def _has_rate(measured: CgroupSample) -> bool:
    """Whether it has a rate, or cannot have one."""
    return measured.nano_cores is not None or measured.usage.cpu_ns is None


def _cgroups(sample: UsageSample) -> Iterator[str]:
    for pod in sample.pods:
        if pod.sandbox_measured is not None:
            yield pod.sandbox_measured.path
        yield from (one.measured.path for one in pod.containers)


def newest(sandboxes: list[Sandbox]) -> list[Sandbox]:
    """The ready sandboxes, one per pod."""
    found: dict[str, Sandbox] = {}
    for sandbox in sorted(sandboxes, key=lambda one: one.created_ns):
        if sandbox.ready:
            found[sandbox.pod_uid] = sandbox
    return list(found.values())
