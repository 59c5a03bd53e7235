"""The tables of eviction: signals, the resource and the condition that each stands for, layouts of file systems."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from actors.shared.admission.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE

MEMORY: Final = "memory.available"
ALLOCATABLE_MEMORY: Final = "allocatableMemory.available"
PIDS: Final = "pid.available"
NODE_DISK, IMAGE_DISK, CONTAINER_DISK = "nodefs", "imagefs", "containerfs"
"""Of the root directory; of images; of writable layers. A signal is this with `.available` or `.inodesFree`."""
_DISKS: Final = (NODE_DISK, IMAGE_DISK, CONTAINER_DISK)

RESOURCE_OF: Final = {
    MEMORY: "memory",
    ALLOCATABLE_MEMORY: "memory",
    **{f"{disk}.available": "ephemeral-storage" for disk in _DISKS},
    **{f"{disk}.inodesFree": "inodes" for disk in _DISKS},
    PIDS: "pids",
}
"""What a pod uses too much of, by signal."""
CONDITION_OF: Final = {
    signal: {"memory": MEMORY_PRESSURE, "pids": PID_PRESSURE}.get(resource, DISK_PRESSURE)
    for signal, resource in RESOURCE_OF.items()
}

EMPTY_DIR_LIMIT: Final = "emptydirfs.limit"
POD_LIMIT: Final = "ephemeralpodfs.limit"
CONTAINER_LIMIT: Final = "ephemeralcontainerfs.limit"
"""Limits of one pod's local storage, beside the signals of the node."""


class Layout(StrEnum):
    """Which of the three file systems are one."""

    SINGLE = "single"
    """All three."""
    DEDICATED = "dedicated"
    """Images and writable layers have one of their own."""
    SPLIT = "split"
    """Images have one of their own; writable layers are on the root directory's."""


class Reclaim(StrEnum):
    """What the node itself can give back before a pod is evicted."""

    CONTAINERS = "containers"
    """Dead ones."""
    IMAGES = "images"
    """Unused ones."""


def disk_of(signal: str) -> str:
    """nodefs, imagefs or containerfs; '' for a signal that is none of a disk."""
    disk = signal.partition(".")[0]
    return disk if disk in _DISKS else ""


def reclaims(signal: str, layout: Layout) -> tuple[Reclaim, ...]:
    """What is cleaned up for this signal, in this order."""
    disk = disk_of(signal)
    if not disk:
        return ()
    if layout is Layout.SINGLE:
        return (Reclaim.CONTAINERS, Reclaim.IMAGES)
    if layout is Layout.DEDICATED:
        return () if disk == NODE_DISK else (Reclaim.CONTAINERS, Reclaim.IMAGES)
    return (Reclaim.IMAGES,) if disk == IMAGE_DISK else (Reclaim.CONTAINERS,)
