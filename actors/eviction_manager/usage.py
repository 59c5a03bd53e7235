"""The resource usage of a pod, and the part of it that an eviction signal counts. Data and pure functions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.shared.kube.pod import Pod

from .resources import CONTAINER_DISK, IMAGE_DISK, NODE_DISK, RESOURCE_OF, DiskLayout, disk_of

ROOTFS, LOGS, VOLUMES = "rootfs", "logs", "volumes"


class DiskUsage(msgspec.Struct, frozen=True):
    """Usage of a disk."""

    bytes: int = 0
    inodes: int = 0


class ContainerUsage(msgspec.Struct, frozen=True, kw_only=True):
    """None: unknown."""

    memory: int | None = None
    """Working set in bytes."""
    rootfs: DiskUsage = DiskUsage()
    """The writable layer."""
    logs: DiskUsage = DiskUsage()


class PodUsage(msgspec.Struct, frozen=True, kw_only=True):
    """None: unknown."""

    memory: int | None = None
    """Working set in bytes."""
    processes: int | None = None
    containers: dict[str, ContainerUsage] = {}
    volumes: dict[str, DiskUsage] = {}
    own: DiskUsage = DiskUsage()
    """Files that the agent made for the pod and its containers write to: /etc/hosts, termination messages."""


def measured_parts(disk: str, layout: DiskLayout) -> frozenset[str]:
    """The parts of a pod's disk usage on this disk: nodefs, imagefs or containerfs."""
    if layout is DiskLayout.SINGLE:
        return frozenset({ROOTFS, LOGS, VOLUMES})
    if layout is DiskLayout.DEDICATED:
        return frozenset({LOGS, VOLUMES}) if disk == NODE_DISK else frozenset({ROOTFS})
    return frozenset() if disk == IMAGE_DISK else frozenset({ROOTFS, LOGS, VOLUMES})


def ephemeral_bytes(pod: Pod, usage: PodUsage) -> int:
    """The usage that counts against the pod's limit of ephemeral storage, on any disk."""
    return disk_usage(pod, usage, (ROOTFS, LOGS, VOLUMES)).bytes


def local_volumes(pod: Pod) -> list[str]:
    """Names of the volumes that are stored on the node's own disk."""
    return [
        volume.name
        for volume in pod.spec.volumes
        if (volume.emptyDir is not None and not volume.emptyDir.medium)
        or volume.hostPath is not None
        or volume.configMap is not None
        or volume.gitRepo != msgspec.Raw()
    ]


def disk_usage(pod: Pod, usage: PodUsage, parts: Iterable[str]) -> DiskUsage:
    """The total of these parts. The files that the agent made for the pod are where its volumes are."""
    parts, usages = frozenset(parts), list[DiskUsage]()
    for container in usage.containers.values():
        usages += [container.rootfs] if ROOTFS in parts else []
        usages += [container.logs] if LOGS in parts else []
    if VOLUMES in parts:
        usages += [usage.own, *(usage.volumes[name] for name in local_volumes(pod) if name in usage.volumes)]
    return DiskUsage(sum(one.bytes for one in usages), sum(one.inodes for one in usages))


def used_of(signal: str, pod: Pod, usage: PodUsage, layout: DiskLayout) -> int | None:
    """The pod's usage of the resource of `signal`; None: unknown."""
    resource = RESOURCE_OF[signal]
    if resource == "memory":
        return usage.memory
    if resource == "pids":
        return usage.processes
    used = disk_usage(pod, usage, measured_parts(disk_of(signal) or CONTAINER_DISK, layout))
    return used.inodes if resource == "inodes" else used.bytes
