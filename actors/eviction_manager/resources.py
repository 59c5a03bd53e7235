"""The tables of eviction: the resource and the condition of each signal, layouts of file systems."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from actors.shared.admission.checks.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE

MEMORY: Final = "memory.available"
ALLOCATABLE_MEMORY: Final = "allocatableMemory.available"
PIDS: Final = "pid.available"
NODE_DISK, IMAGE_DISK, CONTAINER_DISK = "nodefs", "imagefs", "containerfs"
"""Disks of the root directory, of images, of writable layers. A signal is one of these names with `.available` or
`.inodesFree`."""
_DISKS: Final = (NODE_DISK, IMAGE_DISK, CONTAINER_DISK)

RESOURCE_OF: Final = {
    MEMORY: "memory",
    ALLOCATABLE_MEMORY: "memory",
    **{f"{disk}.available": "ephemeral-storage" for disk in _DISKS},
    **{f"{disk}.inodesFree": "inodes" for disk in _DISKS},
    PIDS: "pids",
}
"""The resource of each signal."""
CONDITION_OF: Final = {
    signal: {"memory": MEMORY_PRESSURE, "pids": PID_PRESSURE}.get(resource, DISK_PRESSURE)
    for signal, resource in RESOURCE_OF.items()
}

EMPTY_DIR_LIMIT: Final = "emptydirfs.limit"
POD_LIMIT: Final = "ephemeralpodfs.limit"
CONTAINER_LIMIT: Final = "ephemeralcontainerfs.limit"
"""Labels of the metric for evictions over a limit of one pod's local storage."""


class DiskLayout(StrEnum):
    """The layout of the three disks: the ones that share a file system."""

    SINGLE = "single"
    """All three share one."""
    DEDICATED = "dedicated"
    """Images and writable layers share one; the root directory has another."""
    SPLIT = "split"
    """Images have one; writable layers and the root directory share another."""


class Reclaim(StrEnum):
    """The kind of data that the agent can remove before it evicts a pod."""

    CONTAINERS = "containers"
    """Dead containers."""
    IMAGES = "images"
    """Unused images."""


def disk_of(signal: str) -> str:
    """nodefs, imagefs or containerfs; '' for a signal that does not concern a disk."""
    disk = signal.partition(".")[0]
    return disk if disk in _DISKS else ""


def reclaims(signal: str, layout: DiskLayout) -> tuple[Reclaim, ...]:
    """The steps of node-level reclaim for this signal, in this order."""
    disk = disk_of(signal)
    if not disk:
        return ()
    if layout is DiskLayout.SINGLE:
        return (Reclaim.CONTAINERS, Reclaim.IMAGES)
    if layout is DiskLayout.DEDICATED:
        return () if disk == NODE_DISK else (Reclaim.CONTAINERS, Reclaim.IMAGES)
    return (Reclaim.IMAGES,) if disk == IMAGE_DISK else (Reclaim.CONTAINERS,)
