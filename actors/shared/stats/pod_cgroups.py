"""Finds the cgroups of pods and containers by name, for every driver."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.shared.linux.cgroup_names import CgroupNameError, join, parse_root, path_of
from actors.shared.linux.cgroup_tree import CgroupTree

PODS: Final = "kubepods"
_POD: Final = re.compile(r"(?:.*-)?pod([^/]+?)(?:\.slice)?")
_CONTAINER: Final = re.compile(r"(?:[a-z-]+-)?([0-9a-zA-Z][0-9a-zA-Z_.-]{11,}?)(?:\.scope)?")
_MONITOR: Final = "crio-conmon-"
"""CRI-O's monitor of each container, if configured to be in the pod's cgroup; it has the same id."""
_CRUN: Final = "container"
"""The child cgroup into which crun puts a container's processes (cgroup v2 with systemd)."""
_TIERS: Final = re.compile(r"(?:kubepods-)?(besteffort|burstable)(?:\.slice)?")


class PodCgroup(msgspec.Struct, frozen=True):
    """A pod's cgroup, and the cgroups of its containers and its sandbox by ID."""

    path: str
    containers: dict[str, str]


class CgroupPaths(msgspec.Struct, frozen=True):
    """`tiers`: kubepods itself and its QoS classes. `pods` by UID."""

    tiers: list[str]
    pods: dict[str, PodCgroup]


def roots(cgroup_root: str) -> list[str]:
    """The possible paths of kubepods: the runtime decides the driver, so both are tried."""
    found = []
    for driver in ("cgroupfs", "systemd"):
        try:
            found.append(path_of(join(parse_root(cgroup_root, driver), PODS), driver))
        except CgroupNameError:
            continue
    return list(dict.fromkeys(found))


def paths_of(cgroup_root: str, qos: str, uid: str) -> list[str]:
    """The possible paths of a pod's cgroup. `qos`: in lower case."""
    tier = (qos,) if qos in ("besteffort", "burstable") else ()
    found = []
    for driver in ("cgroupfs", "systemd"):
        try:
            found.append(path_of(join(parse_root(cgroup_root, driver), PODS, *tier, f"pod{uid}"), driver))
        except CgroupNameError:
            continue
    return found


def find(tree: CgroupTree, cgroup_root: str) -> CgroupPaths:
    """Find the existing cgroups."""
    tiers: list[str] = []
    pods: dict[str, PodCgroup] = {}
    for root in roots(cgroup_root):
        names = tree.children(root)
        if not names and not tree.anywhere(root):
            continue
        tiers.append(root)
        inner = [f"{root}/{name}" for name in names if _TIERS.fullmatch(name)]
        tiers += inner
        for parent in (root, *inner):
            for name in names if parent == root else tree.children(parent):
                uid = pod_uid(name)
                if uid:
                    pods[uid] = _pod(tree, f"{parent}/{name}")
    return CgroupPaths(tiers, pods)


def pod_uid(name: str) -> str:
    """The UID of the pod with this cgroup name; '': it is not a pod's."""
    match = _POD.fullmatch(name)
    if match is None:
        return ""
    return match[1].replace("_", "-") if name.endswith(".slice") else match[1]


def container_id(name: str) -> str:
    """The id of the container with this cgroup name; '': it is not a container's."""
    match = None if name.startswith(_MONITOR) else _CONTAINER.fullmatch(name)
    return match[1].rpartition("-")[2] if match is not None else ""


def first_process(tree: CgroupTree, path: str) -> int:
    """A process of the container with this cgroup; 0: there is none."""
    for directory in (path, f"{path}/{_CRUN}"):
        try:
            return int(tree.read(directory, "cpu", "cgroup.procs").split()[0])
        except (OSError, IndexError, ValueError):
            continue
    return 0


def _pod(tree: CgroupTree, path: str) -> PodCgroup:
    found = {container_id(name): f"{path}/{name}" for name in tree.children(path)}
    found.pop("", None)
    return PodCgroup(path, found)
