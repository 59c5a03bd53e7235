"""The eviction signals: available memory, disk space, inodes and process IDs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.memory import read_memory
from actors.shared.stats.cgroup_usage import memory_limit, working_set

from .resources import ALLOCATABLE_MEMORY, CONTAINER_DISK, IMAGE_DISK, MEMORY, NODE_DISK, PIDS, DiskLayout
from .thresholds import SignalObservation


def memory_signals(tree: CgroupTree, kubepods: str, host: str = "") -> dict[str, SignalObservation]:
    """Memory of the node, and of all pods if their cgroup has a limit. Never blocks. `kubepods`: cgroup of all pods, ''
    for none; `host`: the root directory of a simulated host. A signal that cannot be read is left out.

    As in the kubelet, used memory is the working set of the root cgroup. On v2 the root cgroup has no such figure:
    there it is all memory that is neither free nor inactive file pages.
    """
    signals: dict[str, SignalObservation] = {}
    try:
        memory = read_memory(f"{host}/proc")
        total = memory["MemTotal"]
        used = working_set(tree, "")
        if used is None:
            used = total - memory["MemFree"] - memory.get("Inactive(file)", 0)
        signals[MEMORY] = SignalObservation(max(0, total - used), total)
    except (OSError, KeyError):
        pass
    limit, used = (memory_limit(tree, kubepods), working_set(tree, kubepods)) if kubepods else (None, None)
    if limit is not None and used is not None:
        signals[ALLOCATABLE_MEMORY] = SignalObservation(max(0, limit - used), limit)
    return signals


def pid_signals(host: str = "") -> dict[str, SignalObservation]:
    """Process IDs: the lower of the kernel's two limits minus the number of tasks. Never blocks."""
    try:
        most = min(_number(f"{host}/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max"))
        running = int(Path(host or "/", "proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return {}
    return {PIDS: SignalObservation(most - running, most)}


def read_disks(paths: list[str]) -> dict[str, list[int]]:
    """Read the disk of each directory, by path: device, available bytes, total bytes, free inodes, total inodes.
    A disk that cannot be read is omitted. Runs in a disposable process, because a disk may hang."""
    figures: dict[str, list[int]] = {}
    for path in paths:
        try:
            stat, device = os.statvfs(path), os.stat(path).st_dev
        except OSError:
            continue
        unit = stat.f_frsize
        figures[path] = [device, stat.f_bavail * unit, stat.f_blocks * unit, stat.f_ffree, stat.f_files]
    return figures


def disk_signals(disks: Mapping[str, list[int]]) -> dict[str, SignalObservation]:
    """The signals of the figures of `read_disks`, by name. Some file systems count no inodes. Pure."""
    signals: dict[str, SignalObservation] = {}
    for name, (_, available, capacity, inodes_free, inodes) in disks.items():
        signals[f"{name}.available"] = SignalObservation(available, capacity)
        if inodes:
            signals[f"{name}.inodesFree"] = SignalObservation(inodes_free, inodes)
    return signals


def layout_of(disks: Mapping[str, list[int]]) -> DiskLayout:
    """The layout of the disks by the figures of `read_disks`, by name. Pure."""
    node, image, container = (disks.get(name, [0])[0] for name in (NODE_DISK, IMAGE_DISK, CONTAINER_DISK))
    if not image or image == node:
        return DiskLayout.SINGLE
    return DiskLayout.SPLIT if container == node else DiskLayout.DEDICATED


def _number(path: str) -> int:
    return int(Path(path).read_text("ascii"))
