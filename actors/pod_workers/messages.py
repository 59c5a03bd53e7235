"""The messages to a shard of the pods.

A shard stores nothing on disk: pods come from `pod_config`, containers from the runtime. Messages are level-triggered:
each has the whole desired or observed state, and may be repeated or replaced by a newer one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final, Literal
from zlib import crc32

import msgspec

from actors.shared.cri.model import PodRuntime
from supervision.addresses import ActorName
from supervision.message import Message, Question

_WORKER: Final = "pod_workers/worker/"
POD_WORKERS: Final = ActorName(f"{_WORKER}*")
"""All shards, as a pattern."""


def pod_worker(number: int) -> ActorName:
    """The shard with this number, from 0."""
    return ActorName(f"{_WORKER}{number}")


def pod_workers(workers: int) -> list[ActorName]:
    """All shards of an agent with `count` shards."""
    return [pod_worker(number) for number in range(workers)]


def worker_of(uid: str, workers: int) -> ActorName:
    """The shard of the pod with this UID. Every actor can compute it, so no router is needed."""
    # a UID from the name of a directory may be no UTF-8
    return pod_worker(crc32(uid.encode(errors="surrogateescape")) % workers)


def is_pod_worker(name: str) -> bool:
    """Whether an actor is a shard."""
    return name.startswith(_WORKER)


class PodOperation(Message, frozen=True):
    """From pod_config: the desired state of one pod."""

    op: Literal["set", "remove"]
    """`set`: run (or, with deletionTimestamp, terminate) this pod. `remove`: no source has it: terminate and forget
    it."""
    uid: str
    pod: bytes = b""
    """JSON with API defaults; empty for `remove`."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class WantedPod(msgspec.Struct, frozen=True):
    uid: str
    pod: bytes


class DesiredPods(Message, frozen=True):
    """From pod_config, when the shard says Hello and when sources become ready: all pods of this shard.

    If `sources_ready`, a pod of the runtime that is not in this list is an orphan. Before that no pod of the API server
    is removed; a static pod is, if `static_ready`. A large list comes in parts (lists_in_parts.py).
    """

    pods: list[WantedPod]
    sources_ready: bool
    others: list[str] = []
    """In the last part: UIDs of all other pods, which were sent before."""
    more: bool = False
    """Another part follows: `pods` are not all."""
    static_ready: bool = False
    """The directory and the URL of static pods have been read: a static pod that is not in this list has no source."""
    coalesce: ClassVar[tuple[str, ...]] = ()

    def coalesce_key(self) -> Hashable | None:
        return None if self.more else super().coalesce_key()


class PodRuntimeChanged(Message, frozen=True):
    """From pleg: the pod changed in the runtime; `runtime` is its whole state. Ignored if it is older than the pod
    worker's own look."""

    uid: str
    runtime: PodRuntime
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class PodRuntimeUnreadable(Message, frozen=True):
    """From pleg, with each relist until PodRuntimeChanged: the runtime does not report the state of the pod."""

    uid: str
    error: str
    """As the kubelet prints it."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class RuntimePods(Message, frozen=True):
    """From pleg, when the shard says Hello and at the first relist: all of this shard's pods that the runtime has."""

    pods: list[PodRuntime]
    at: float
    """As PodRuntime.at."""
    unread: list[str] = []
    """UIDs of runtime pods whose state is not known yet; each follows as PodRuntimeChanged."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class RuntimeHealth(Message, frozen=True):
    """From pleg, on change, on Hello and with each look at the runtime: whether it and its network can be used."""

    ready: bool
    network_ready: bool
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ()


class ProbeVerdict(Message, frozen=True):
    """From prober: the result of a container's liveness or startup probe. Repeated on Hello, and with each ProbedPod
    while it holds."""

    uid: str
    container: str
    container_id: str
    kind: Literal["liveness", "startup"]
    success: bool
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("uid", "container", "kind")


class KillPod(Message, frozen=True):
    """From shutdown_manager and eviction_manager, repeated: terminate the pod with this reason and message; it becomes
    Failed."""

    uid: str
    reason: str
    message: str
    grace_seconds: int
    disruption: str = ""
    """Message of the pod's condition DisruptionTarget; empty: it gets none."""


class RemoveDeadContainers(Question["DeadContainersRemoved"], frozen=True):
    """From eviction_manager: the disk is full. Remove all containers of pods that have ended. Answered with
    DeadContainersRemoved."""


class DeadContainersRemoved(Message, frozen=True):
    removed: int


class ResizeMayFit(Message, frozen=True):
    """From container_manager: there is room for the deferred resize of this pod, and the room is kept for it, or it
    waits for another reason than before, which the pod's status says: ask again now."""

    uid: str
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class RetryMounts(Message, frozen=True):
    """From volume_manager: an object that a volume of the pod needs has changed. The worker mounts the volume again
    now."""

    uid: str
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class ShardPods(Message, frozen=True):
    """From each shard, on change and on Hello, once its sources are ready: its part of the pod inventory, the pods that
    may still have anything on the node (cgroup, volumes, containers). Once every shard has reported, receivers may
    remove what belongs to no pod of the inventory."""

    worker: str
    workers: int
    uids: list[str]
    coalesce: ClassVar[tuple[str, ...]] = ("worker",)

    def lacks(self, uid: str) -> bool:
        """Whether the pod belongs to this shard, which does not have it."""
        return uid not in self.uids and worker_of(uid, self.workers) == self.worker
