"""The disks of a sample: measured in disposable processes, because a disk may hang, and kept for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.stats import FileSystem
from supervision.actor import DisposableError
from supervision.metrics import Metrics
from supervision.time_scale import scaled

from .hanging_paths import Disposable, HangingPaths
from .sample import Disk, PodSample, UsageSample

DISK_SECONDS: Final = 10.0
"""The time limit for the file systems of the node and the runtime, in seconds."""
FIRST_DISK_SECONDS: Final = 3.0
"""How long an answer waits for the disks if their figures are not recent, or lack a pod, in seconds."""
PERIOD_SECONDS: Final = 60.0
MeasurePods = Callable[[list[list[str]]], Awaitable[dict[str, dict[str, Any]]]]
"""Measures pods as `PodDisks`. Raises DisposableError."""
_FILE_SYSTEMS: Final = "actors.shared.stats.disk:file_systems"


class DiskUsageCollector:
    """`runtime`: a client of the runtime, for its file systems. `measure_pods`: by who measures pods anyway. `clock`:
    seconds, monotonic."""

    def __init__(
        self,
        agent: Agent,
        runtime: CriClient,
        disposable: Disposable,
        measure_pods: MeasurePods,
        metrics: Metrics,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agent, self._runtime = agent, runtime
        self._metrics, self._clock = metrics, clock
        self._places = HangingPaths(disposable, log, clock)
        self._measure_pods = measure_pods
        self._pods: dict[str, Disk] = {}
        self._systems: dict[str, Disk] = {}
        self._at = 0.0
        self._measured = float("-inf")
        self._measuring: asyncio.Task[None] | None = None
        self._walked: set[str] = set()
        """The UIDs of the pods whose measurement began with or after the last measurement of all pods."""

    async def measure(self, sample: UsageSample) -> None:
        """Measure all if it is due, and otherwise the pods that are new since then.

        The first caller, one long after the last measurement, and one that asks about a new pod wait for the result.
        """
        given = float(self._agent.config.volumeStatsAggPeriod)
        period = given if given > 0 else PERIOD_SECONDS
        age = self._clock() - self._measured
        new = [pod for pod in sample.pods if pod.sandbox.pod_uid not in self._walked] if given >= 0 else []
        if self._measuring is None or self._measuring.done():
            if age >= period:
                self._measuring = asyncio.ensure_future(self._measure(sample, walk=given >= 0))
            elif new:
                self._measuring = asyncio.ensure_future(self._measure_new(new))
        if self._measuring is not None and (age >= 2 * period or new):
            await asyncio.wait([self._measuring], timeout=scaled(FIRST_DISK_SECONDS))

    def with_disks(self, sample: UsageSample) -> UsageSample:
        """The sample with the figures of the last measurement."""
        return msgspec.structs.replace(
            sample,
            disks=self._pods,
            disks_at=self._at,
            node_fs=self._systems.get("node", {}),
            image_fs=self._systems.get("images", {}),
            container_fs=self._systems.get("containers", {}),
        )

    async def _measure(self, sample: UsageSample, *, walk: bool) -> None:
        pods = self._directories(sample.pods)
        self._walked = {uid for uid, *_ in pods}
        images, containers = await self._stores()
        wanted = [self._agent.root_dir, *(one.mountpoint for one in (*images, *containers))]
        try:
            whole = await self._places.ask(_FILE_SYSTEMS, dict.fromkeys(wanted), DISK_SECONDS)
            found = await self._measure_pods(pods) if walk else {}
        except DisposableError:
            self._at, self._measured = time.time(), self._clock()  # keep the old figures; retry after a period
            return
        self._count(found)
        self._pods, self._at, self._measured = found, time.time(), self._clock()
        node = whole.get(self._agent.root_dir, {})
        self._systems = {
            "node": node,
            "images": store_figures(images, whole),
            "containers": store_figures(containers, whole),
        }
        if not containers:
            self._systems["containers"] = self._systems["images"]

    async def _measure_new(self, new: list[PodSample]) -> None:
        pods = self._directories(new)
        self._walked.update(uid for uid, *_ in pods)
        with suppress(DisposableError):  # then they have figures with the next measurement of all
            found = await self._measure_pods(pods)
            self._count(found)
            self._pods = {**self._pods, **found}

    def _directories(self, pods: list[PodSample]) -> list[list[str]]:
        """The UID of each pod, its directory, and that of its logs."""
        logs = self._agent.pod_logs_dir
        found = []
        for sandbox in (pod.sandbox for pod in pods):
            uid = sandbox.pod_uid
            log_dir = f"{logs}/{sandbox.pod_namespace}_{sandbox.pod_name}_{uid}"
            found.append([uid, self._agent.pod_dir(uid), log_dir])
        return found

    def _count(self, pods: dict[str, Disk]) -> None:
        """Those that were measured since the last time."""
        for uid, pod in pods.items():
            if "at" in pod and pod["at"] == self._pods.get(uid, {}).get("at"):
                continue
            for volume in pod["volumes"].values():
                self._metrics.observe(
                    "kubelet_volume_metric_collection_duration_seconds",
                    volume["seconds"],
                    metric_source=volume["metric_source"],
                )

    async def _stores(self) -> tuple[list[FileSystem], list[FileSystem]]:
        try:
            info = await self._runtime.image_fs_info()
        except CriError:
            return [], []
        return info.images, info.containers


def store_figures(stores: list[FileSystem], whole: dict[str, Disk]) -> Disk:
    """The figures of the runtime's first store: those of its file system, except `used_bytes`, which the runtime
    reports."""
    if not stores or stores[0].mountpoint not in whole:
        return {}
    found = dict(whole[stores[0].mountpoint])
    if stores[0].used_bytes is not None:
        found["used_bytes"] = stores[0].used_bytes
    if stores[0].inodes_used is not None:
        found["inodes_used"] = stores[0].inodes_used
    return found
