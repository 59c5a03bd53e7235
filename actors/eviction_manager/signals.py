"""The eviction signals: what is left of memory, disk and process IDs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.memory import read_memory
from actors.shared.stats.cgroup_usage import memory_limit, working_set

from .resources import ALLOCATABLE_MEMORY, CONTAINER_DISK, IMAGE_DISK, MEMORY, NODE_DISK, PIDS, Layout
from .thresholds import Observation


def memory_signals(tree: CgroupTree, kubepods: str, host: str = "") -> dict[str, Observation]:
    """Memory of the node, and of all pods where that is limited. Never blocks. `kubepods`: cgroup of all pods, '' for
    none; `host`: the root directory of a made-up host. A signal that cannot be read is left out.

    As in the reference memory is in use by the root cgroup's working set; on v2, whose root has no such figure, by what
    is neither free nor inactive file pages.
    """
    found: dict[str, Observation] = {}
    try:
        memory = read_memory(f"{host}/proc")
        total = memory["MemTotal"]
        used = working_set(tree, "")
        if used is None:
            used = total - memory["MemFree"] - memory.get("Inactive(file)", 0)
        found[MEMORY] = Observation(max(0, total - used), total)
    except (OSError, KeyError):
        pass
    limit, used = (memory_limit(tree, kubepods), working_set(tree, kubepods)) if kubepods else (None, None)
    if limit is not None and used is not None:
        found[ALLOCATABLE_MEMORY] = Observation(max(0, limit - used), limit)
    return found


def pid_signals(host: str = "") -> dict[str, Observation]:
    """Process IDs: the kernel's lower limit less every task. Never blocks."""
    try:
        most = min(_number(f"{host}/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max"))
        running = int(Path(host or "/", "proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return {}
    return {PIDS: Observation(most - running, most)}


def read_disks(disks: dict[str, str]) -> dict[str, list[int]]:
    """By name of a disk, of those whose directory is given: device, available and all bytes, free and all inodes. One
    that cannot be read is left out. Runs in a disposable process: a disk may hang."""
    found: dict[str, list[int]] = {}
    for name, directory in disks.items():
        try:
            stat, device = os.statvfs(directory), os.stat(directory).st_dev
        except OSError:
            continue
        unit = stat.f_frsize
        found[name] = [device, stat.f_bavail * unit, stat.f_blocks * unit, stat.f_ffree, stat.f_files]
    return found


def disk_signals(disks: Mapping[str, list[int]]) -> dict[str, Observation]:
    """The signals of what `read_disks` found. Some file systems count no inodes. Pure."""
    found: dict[str, Observation] = {}
    for name, (_, available, capacity, inodes_free, inodes) in disks.items():
        found[f"{name}.available"] = Observation(available, capacity)
        if inodes:
            found[f"{name}.inodesFree"] = Observation(inodes_free, inodes)
    return found


def layout_of(disks: Mapping[str, list[int]]) -> Layout:
    """Which of the disks that `read_disks` found are one. Pure."""
    node, image, container = (disks.get(name, [0])[0] for name in (NODE_DISK, IMAGE_DISK, CONTAINER_DISK))
    if not image or image == node:
        return Layout.SINGLE
    return Layout.SPLIT if container == node else Layout.DEDICATED


def _number(path: str) -> int:
    return int(Path(path).read_text("ascii"))
