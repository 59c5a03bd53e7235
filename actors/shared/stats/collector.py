"""Takes samples of usage figures on demand, and caches each for a while.

Cgroups and /proc are read here, a few at a time, because these reads never block; disks may block and are read in a
disposable process.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container, ContainerState, Sandbox
from actors.shared.cri.stats import ContainerStats, FileSystem
from actors.shared.linux.cgroup_names import plain_path
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.cgroup_tree import find as find_cgroups
from supervision.actor import DisposableError, DisposableTimeout
from supervision.time_scale import scaled

from . import host, pod_cgroups
from .cgroup_usage import Usage, read
from .processes import Processes, count_of, processes_of
from .sample import ContainerSample, Disk, Measured, Network, PodSample, Sample, usage_of

KEPT_SECONDS: Final = 10.0
RATE_SECONDS: Final = 600.0
"""A rate is not computed from a value older than this."""
FIRST_RATE_SECONDS: Final = 0.2
"""The time between the two looks at a cgroup that has no rate yet."""
DISK_SECONDS: Final = 30.0
FIRST_DISK_SECONDS: Final = 3.0
"""How long an answer waits for the disks when there are no recent figures of them."""
DISK_PERIOD_SECONDS: Final = 60.0
_AT_ONCE: Final = 16


class _Groups(NamedTuple):
    """The cgroups above those of pods, and beside them."""

    root: Measured
    tiers: list[Measured]
    system: dict[str, Measured]

    def all(self) -> list[Measured]:
        return [self.root, *self.tiers, *self.system.values()]


Disposable = Callable[[str, dict[str, Any], float], Awaitable[Any]]


class Collector:
    """`runtime`: a client of the runtime, for the list of pods."""

    def __init__(self, agent: Agent, runtime: CriClient, disposable: Disposable) -> None:
        self._agent, self._runtime, self._disposable = agent, runtime, disposable
        self._tree: CgroupTree | None = None
        self._kept: Sample | None = None
        self._looking: asyncio.Task[Sample] | None = None
        self._before: dict[str, tuple[float, int]] = {}
        self._rates: dict[str, int] = {}
        self._disks: dict[str, Disk] = {}
        self._disks_at = 0.0
        self._file_systems: dict[str, Disk] = {}
        self._measuring: asyncio.Task[None] | None = None

    async def sample(self, most_seconds: float = KEPT_SECONDS, *, disks: bool = True) -> Sample:
        """A sample that is at most `most_seconds` old; without `disks` it does not wait for them. Raises CriError."""
        kept = self._kept
        if kept is None or not 0 <= time.time() - kept.at <= most_seconds:  # the clock may have been set back
            if self._looking is None or self._looking.done():
                self._looking = asyncio.ensure_future(self._look())
            kept = await asyncio.shield(self._looking)
        if disks:
            await self._measure(kept)
        return self._with_disks(kept)

    # -- cgroups, processes, the runtime ---------------------------------------------------------------------------
    async def _look(self) -> Sample:
        sandboxes, containers, stats = await asyncio.gather(
            self._runtime.list_pod_sandboxes(), self._runtime.list_containers(), self._container_stats()
        )
        self._places = pod_cgroups.find(self.tree, self._agent.config.cgroupRoot)
        inside: dict[str, list[Container]] = {}
        for container in containers:
            if container.state is ContainerState.RUNNING:
                inside.setdefault(container.sandbox_id, []).append(container)
        running = [(box, inside.get(box.id, [])) for box in newest(sandboxes)]
        groups, found = self._groups(), await self._pods(running, stats)
        again = [one for one, pod in zip(running, found, strict=True) if not all(map(_rated, _parts(pod)))]
        if again or not all(map(_rated, groups.all())):
            # seen for the first time: a reader that asks once is told a rate, too
            await asyncio.sleep(FIRST_RATE_SECONDS)
            groups = self._groups()
            newer = {pod.sandbox.id: pod for pod in await self._pods(again, stats)}
            found = [newer.get(pod.sandbox.id, pod) for pod in found]
        now = time.time()
        self._kept = Sample(
            at=now,
            host=host.read(now),
            root=groups.root,
            tiers=groups.tiers,
            system=groups.system,
            pods=found,
        )
        self._forget(now)
        return self._kept

    def _groups(self) -> _Groups:
        return _Groups(
            self._measured("/", self._read("/")),
            [self._measured(path, self._read(path)) for path in self._places.tiers],
            self._system(),
        )

    async def _container_stats(self) -> dict[str, ContainerStats]:
        try:
            return {stats.id: stats for stats in await self._runtime.list_container_stats()}
        except CriError:
            return {}  # then only the sizes of writable layers are unknown

    async def _pods(
        self, running: list[tuple[Sandbox, list[Container]]], stats: dict[str, ContainerStats]
    ) -> list[PodSample]:
        found = []
        for count, (sandbox, containers) in enumerate(running):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            found.append(self._pod(sandbox, containers, stats))
        return found

    def _pod(self, sandbox: Sandbox, containers: list[Container], stats: dict[str, ContainerStats]) -> PodSample:
        place = self._places.pods.get(sandbox.pod_uid)
        inner = place.containers if place is not None else {}
        own = inner.get(sandbox.id, "")
        return PodSample(
            sandbox=sandbox,
            measured=self._measured(place.path, self._read(place.path)) if place is not None else None,
            sandbox_measured=self._measured(own, self._read(own)) if own else None,
            containers=[self._container(one, inner.get(one.id, ""), stats.get(one.id)) for one in containers],
            network=self._network([own] if own else [inner[one.id] for one in containers if one.id in inner]),
        )

    def _container(self, container: Container, path: str, stats: ContainerStats | None) -> ContainerSample:
        if path:
            measured = self._measured(path, self._read(path))
        else:
            now = time.time()
            usage = usage_of(stats, now) if stats is not None else Usage(at=now)
            measured = self._measured(f"/{container.id}", usage)
        return ContainerSample(container, measured, stats.writable_layer if stats is not None else None)

    def _network(self, cgroups: list[str]) -> Network | None:
        """The network of a pod: of its sandbox, or of its containers if the sandbox has no process (CRI-O). None: it is
        the node's, or not visible."""
        pid = next((pid for cgroup in cgroups if (pid := pod_cgroups.first_process(self.tree, cgroup))), 0)
        try:
            if not pid or os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                return None
        except OSError:
            return None
        return Network(*host.network_of(pid))

    def _system(self) -> dict[str, Measured]:
        config = self._agent.config
        wanted = {
            "kubelet": config.kubeletCgroups or own_cgroup(),
            "runtime": str(self._agent.flags.get("runtime-cgroups") or ""),
            "misc": config.systemCgroups,
        }
        found = {}
        for name, given in wanted.items():
            path = plain_path(given)
            if path != "/" and self.tree.anywhere(path):
                found[name] = self._measured(path, self._read(path))
        return found

    @property
    def tree(self) -> CgroupTree:
        if self._tree is None:
            self._tree = find_cgroups()
        return self._tree

    def _read(self, path: str) -> Usage:
        return read(self.tree, "" if path == "/" else path)

    def _measured(self, path: str, usage: Usage) -> Measured:
        if usage.cpu_ns is not None:
            before = self._before.get(path)
            if before is not None and before[0] == usage.at:
                return Measured(path, usage, self._rates.get(path))
            self._before[path] = (usage.at, usage.cpu_ns)
            if before is not None and 0 < usage.at - before[0] <= RATE_SECONDS and usage.cpu_ns >= before[1]:
                self._rates[path] = int((usage.cpu_ns - before[1]) / (usage.at - before[0]))
            elif before is not None:
                self._rates.pop(path, None)
        return Measured(path, usage, self._rates.get(path))

    def _forget(self, now: float) -> None:
        gone = [path for path, (at, _) in self._before.items() if not 0 <= now - at <= RATE_SECONDS]
        for path in gone:
            self._before.pop(path)
            self._rates.pop(path, None)

    async def processes(self, sample: Sample) -> dict[str, Processes]:
        """The current processes of containers and sandboxes, by cgroup."""
        found: dict[str, Processes] = {}
        for count, path in enumerate(_cgroups(sample)):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            found[path] = processes_of(self.tree, path)
        return found

    def process_count(self, sample: Sample) -> dict[str, int]:
        """The current number of processes of each pod, by UID: those of its containers and its sandbox."""
        return {pod.sandbox.pod_uid: sum(count_of(self.tree, path) for path in _cgroups_of(pod)) for pod in sample.pods}

    # -- disks -----------------------------------------------------------------------------------------------------
    async def _measure(self, sample: Sample) -> None:
        """Measure the disks if due. Who comes first, or long after the last one, waits for it."""
        period = float(self._agent.config.volumeStatsAggPeriod) or DISK_PERIOD_SECONDS
        walk = period > 0
        age, period = time.time() - self._disks_at, period if walk else DISK_PERIOD_SECONDS
        if not 0 <= age < period and (self._measuring is None or self._measuring.done()):
            self._measuring = asyncio.ensure_future(self._measure_now(sample, walk=walk))
        if not 0 <= age < 2 * period and self._measuring is not None:
            await asyncio.wait([self._measuring], timeout=scaled(FIRST_DISK_SECONDS))

    async def _measure_now(self, sample: Sample, *, walk: bool) -> None:
        logs = self._agent.pod_logs_dir
        pods = []
        for pod in sample.pods:
            box = pod.sandbox
            directory = f"{logs}/{box.pod_namespace}_{box.pod_name}_{box.pod_uid}"
            pods.append([box.pod_uid, self._agent.pod_dir(box.pod_uid), directory])
        images, containers = await self._stores()
        wanted = [self._agent.root_dir, *(one.mountpoint for one in (*images, *containers))]
        disk = "actors.shared.stats.disk"
        try:
            whole = await self._disposable(f"{disk}:file_systems", {"paths": wanted}, DISK_SECONDS)
            found = await self._disposable(f"{disk}:measure_pods", {"pods": pods}, DISK_SECONDS) if walk else {}
        except (DisposableError, DisposableTimeout):
            self._disks_at = time.time()  # keep the old figures; retry after a period
            return
        self._disks, self._disks_at = found, time.time()
        node = whole.get(self._agent.root_dir, {})
        self._file_systems = {"node": node, "images": _store(images, whole), "containers": _store(containers, whole)}
        if not containers:
            self._file_systems["containers"] = self._file_systems["images"]

    async def _stores(self) -> tuple[list[FileSystem], list[FileSystem]]:
        try:
            info = await self._runtime.image_fs_info()
        except CriError:
            return [], []
        return info.images, info.containers

    def _with_disks(self, sample: Sample) -> Sample:
        import msgspec

        systems = self._file_systems
        return msgspec.structs.replace(
            sample,
            disks=self._disks,
            disks_at=self._disks_at,
            node_fs=systems.get("node", {}),
            image_fs=systems.get("images", {}),
            container_fs=systems.get("containers", {}),
        )


def _parts(pod: PodSample) -> list[Measured]:
    own = (pod.measured, pod.sandbox_measured)
    return [one for one in own if one is not None] + [one.measured for one in pod.containers]


def _rated(measured: Measured) -> bool:
    """Whether it has a rate, or cannot have one."""
    return measured.nano_cores is not None or measured.usage.cpu_ns is None


def _cgroups(sample: Sample) -> Iterator[str]:
    for pod in sample.pods:
        yield from _cgroups_of(pod)


def _cgroups_of(pod: PodSample) -> Iterator[str]:
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


def own_cgroup() -> str:
    """The agent's own cgroup, from /proc/self/cgroup (cgroups(7)): of the memory controller, or of v2."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return ""
    by_controller = {name: path for _, names, path in lines for name in names.split(",")}
    return by_controller.get("memory") or by_controller.get("", "")


def _store(stores: list[FileSystem], whole: dict[str, Disk]) -> Disk:
    if not stores or stores[0].mountpoint not in whole:
        return {}
    found = dict(whole[stores[0].mountpoint])
    if stores[0].used_bytes is not None:
        found["used_bytes"] = stores[0].used_bytes
    if stores[0].inodes_used is not None:
        found["inodes_used"] = stores[0].inodes_used
    return found
