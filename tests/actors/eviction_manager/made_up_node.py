"""A simulated node for the eviction manager: memory, disks, cgroups and pods that the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from actors.api_clients.event_client.messages import EventTaken, RecordEvent, TakeEvent
from actors.eviction_manager.actor import EvictionManager
from actors.eviction_manager.resources import IMAGE_DISK, NODE_DISK
from actors.image_manager.messages import (
    GetImageFilesystem,
    ImageFilesystem,
    RemoveUnusedImages,
    UnusedImagesRemoved,
)
from actors.pod_workers.messages import DeadContainersRemoved, KillPod, RemoveDeadContainers
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.errors import CriError, NotFound
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.cri.stats import ContainerStats, FileSystem
from actors.shared.kube.names import POD_UID_LABEL
from actors.status_manager.messages import ActivePod, ActivePods, GetActivePods, GetLivePods, LivePod, LivePods
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock

DISKS = "actors.eviction_manager.eviction_signals:read_disks"
MEASURE = "actors.shared.stats.disk:measure_pods"
CONTAINER_ID = "c0ffee" * 4


class MadeUpNode:
    """A node with 1000 kB of memory. `disks`: the figures of `read_disks`, by name."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock = root, VirtualClock()
        self.pods: dict[str, tuple[bytes, dict[str, str]]] = {}
        """JSON and running containers of each active pod, by UID."""
        self.live: dict[str, LivePod] = {}
        self.disks: dict[str, list[int]] = {}
        self.kept: dict[str, list[int]] = {}
        """As `disks`, once the runtime frees the space of removed containers."""
        self.measured: dict[str, Any] = {}
        self.layers: dict[str, int] = {}
        """Bytes of the writable layer of each container, by ID."""
        self.volumes_measured = 0
        self.walked: list[str] = []
        """UIDs of the pods whose volumes were measured."""
        self.listed = True
        self.in_runtime: dict[str, str] = {}
        """Name of each container that the runtime has, by ID."""
        self.runtime_error: CriError | None = None
        self.hanging_shim = ""
        """UID of the pod whose shim does not answer."""
        base = root / "sys/fs/cgroup/memory"
        base.mkdir(parents=True)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/mountinfo").write_text("30 1 0:9 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
        self.set_free(1000)

    async def list_container_stats(self, labels: Mapping[str, str] | None = None) -> list[ContainerStats]:
        """The answer of the runtime: of all pods, whatever the labels."""
        if self.runtime_error is not None:
            raise self.runtime_error
        if self.hanging_shim and (labels or {}).get(POD_UID_LABEL, self.hanging_shim) == self.hanging_shim:
            await asyncio.Event().wait()
        return [
            ContainerStats(
                id=id_,
                name="",
                pod_uid="",
                writable_layer=FileSystem(at_ns=0, mountpoint="", used_bytes=used, inodes_used=1),
            )
            for id_, used in self.layers.items()
        ]

    async def container_status(self, container_id: str) -> CriContainer:
        """The answer of the runtime: one that the status manager does not know yet, too."""
        if (name := self.in_runtime.get(container_id)) is None:
            raise NotFound("ContainerStatus", "NOT_FOUND", f"no container {container_id}")
        return CriContainer(id=container_id, name=name, pod_uid="", state=CriContainerState.EXITED)

    async def free_removed_space(self) -> None:
        """The disks get what `kept` says."""
        self.disks |= self.kept

    def set_free(self, kib: int) -> None:
        """Set the available memory."""
        (self.root / "proc/meminfo").write_text(f"MemTotal: 1000 kB\nMemFree: {kib} kB\n")

    def add(self, uid: str, *, memory_kib: int = 0, **spec: Any) -> None:
        """Add a running pod. `spec`: fields of its spec."""
        containers = spec.pop("containers", [{"name": "main", "image": "i"}])
        made = {
            "metadata": {"name": f"pod-{uid}", "namespace": "n", "uid": uid},
            "spec": {"containers": containers, **spec},
        }
        self.pods[uid] = (msgspec.json.encode(made), {"main": CONTAINER_ID})
        self.live[uid] = LivePod(
            uid=uid, full_name=f"pod-{uid}_n", static=False, priority=0, grace_seconds=30, finished=False,
            status_written=True,
        )  # fmt: skip
        self.use(uid, memory_kib)

    def use(self, uid: str, memory_kib: int) -> None:
        """Set the memory usage of the pod and its container."""
        cgroup = self.root / f"sys/fs/cgroup/memory/kubepods/besteffort/pod{uid}"
        for directory in (cgroup, cgroup / CONTAINER_ID):
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "memory.usage_in_bytes").write_text(str(memory_kib << 10))
            (directory / "memory.stat").write_text("total_inactive_file 0\n")

    def read_disks(self, paths: list[str]) -> dict[str, list[int]]:
        """The figures of `disks`, by directory."""
        names = {str(self.root / "kubelet"): NODE_DISK, "/images": IMAGE_DISK}
        return {path: self.disks[names[path]] for path in paths if names[path] in self.disks}

    def measure(self, pods: list[list[str]], *, volumes: bool = True) -> dict[str, Any]:
        """The figures of `measured`, by UID."""
        self.volumes_measured += volumes
        self.walked += [uid for uid, *_ in pods if volumes]
        return {uid: self.measured[uid] if volumes else {**self.measured[uid], "volumes": {}} for uid, *_ in pods}

    def stop(self, uid: str, *, written: bool = True) -> None:
        """Its pod worker has ended it."""
        self.pods.pop(uid, None)
        self.live[uid] = msgspec.structs.replace(self.live[uid], finished=True, status_written=written)

    def start(self, incarnation: int = 1, *, standalone: bool = False, **config: Any) -> Harness[EvictionManager]:
        settings = KubeletConfiguration(**{"evictionHard": {"memory.available": "100Ki"}, **config})
        context = Agent(
            root_dir=str(self.root / "kubelet"), run_dir=str(self.root / "run"), workers=1, config=settings,
            standalone=standalone, node_name="node",
        )  # fmt: skip
        harness = Harness(
            EvictionManager, name="eviction_manager", context=context, incarnation=incarnation, clock=self.clock,
            arguments={"host": str(self.root), "clock": lambda: self.clock.now, "runtime": self},
        )  # fmt: skip
        harness.disposables[DISKS] = self.read_disks
        harness.disposables[MEASURE] = self.measure
        harness.answer(TakeEvent, EventTaken())
        harness.answer(GetImageFilesystem, ImageFilesystem("/images"))
        harness.answer(GetActivePods, lambda _: ActivePods([ActivePod(uid, *one) for uid, one in self.pods.items()]))
        harness.answer(GetLivePods, lambda _: LivePods(list(self.live.values()), complete=self.listed))
        harness.answer(RemoveDeadContainers, DeadContainersRemoved(0))
        harness.answer(RemoveUnusedImages, UnusedImagesRemoved())
        return harness


def killed(harness: Harness[EvictionManager]) -> list[str]:
    """UIDs of the pods that were ordered to end, each once."""
    return list(dict.fromkeys(order.uid for order in harness.sent(KillPod)))


def told(harness: Harness[EvictionManager]) -> list[RecordEvent]:
    """The events of evictions that the event client was asked to take."""
    return [question.event for _, question in harness.asks if isinstance(question, TakeEvent)]
