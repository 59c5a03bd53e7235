"""The processes of a container, from its cgroup and proc(5): their number and open files."""

from __future__ import annotations

import os
import resource
from typing import Final

import msgspec
import psutil

from actors.shared.linux.cgroup_tree import CgroupTree

_INNER: Final = ("", "/container")
"""crun puts the processes into a cgroup of this name below the container's (cgroup v2 with systemd)."""


class ProcessStats(msgspec.Struct, frozen=True):
    count: int
    descriptors: int
    sockets: int
    """How many of the open descriptors are sockets."""
    open_files_limit: int | None
    """The soft limit of the first process; None: unlimited, or it has ended."""


def processes_of(tree: CgroupTree, path: str) -> ProcessStats:
    """Raises nothing: a process that ends meanwhile is skipped."""
    pids = [pid for inner in _INNER for pid in _pids(tree, path + inner)]
    links = [link for pid in pids for link in _descriptors(pid)]
    sockets = sum(link.startswith("socket:") for link in links)
    return ProcessStats(len(pids), len(links), sockets, _open_files_limit(pids[0]) if pids else None)


def count_of(tree: CgroupTree, path: str) -> int:
    """How many processes a container has, threads not counted. Raises nothing."""
    return sum(len(_pids(tree, path + inner)) for inner in _INNER)


def _pids(tree: CgroupTree, path: str) -> list[int]:
    try:
        return [int(word) for word in tree.read(path, "cpu", "cgroup.procs").split()]
    except (OSError, ValueError):
        return []


def _descriptors(pid: int) -> list[str]:
    """The targets of a process's descriptors."""
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    for name in names:
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


def _open_files_limit(pid: int) -> int | None:
    try:
        soft, _ = psutil.Process(pid).rlimit(psutil.RLIMIT_NOFILE)
    except psutil.Error:
        return None
    return None if soft == resource.RLIM_INFINITY else soft
