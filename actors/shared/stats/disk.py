"""The size of directories, and the free space of their file systems. Runs in a disposable process: a disk may hang.

`measure_pods` does not touch mounts in a pod's volumes, because any of them may hang. `measure_volumes` measures them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from actors.shared.linux import mountinfo
from supervision.errors import UNREADABLE
from supervision.state_file import read_private

from .claimed_volumes import ClaimedName, claimed_names, claims_file
from .directory_size import BLOCK, DirectorySize, round_robin

_IN_MEMORY = ("tmpfs", "hugetlbfs")
"""File systems that never wait for anything."""
_CSI = "kubernetes.io~csi"
_PERSISTENT = ("kubernetes.io~nfs", "kubernetes.io~local-volume", "kubernetes.io~iscsi", "kubernetes.io~fc")
"""Directories of plugins, in which a PersistentVolume has its own name."""
_WHOLE = (_CSI, *_PERSISTENT)
"""Volumes with a file system of their own, which may be huge. It holds nothing else, so its used bytes are the volume's
and nothing is walked."""
_DEVICES = "volumeDevices"
WALK_SECONDS = 20.0
"""The time limit for the files of all pods."""


def measure_pods(
    pods: list[list[str]], seconds: float = WALK_SECONDS, *, volumes: bool = True
) -> dict[str, dict[str, Any]]:
    """The disk usage of pods. `pods`: [UID, the pod's directory, the directory of its logs] of each.

    Returns by UID `volumes` and `logs`, each by name, and `own`, files that the agent made for the pod, and that its
    containers write to. Each entry has `used_bytes` and `inodes_used`; a volume also has the other values of
    `measure_volumes`, without `name`. `mounted`: the paths of the volumes that only `measure_volumes` may measure.

    Pods take turns. After `seconds` the figures are what was counted so far: a pod with too many files has figures that
    are too small, and the other pods have theirs. `volumes`: False leaves volumes out."""
    points = [mount.point for mount in mountinfo.read() if mount.kind not in _IN_MEMORY] if volumes else []
    found = [
        _PodDirectories(uid, os.path.realpath(directory), logs, points, volumes=volumes)
        for uid, directory, logs in pods
    ]
    end = time.monotonic() + seconds
    for _ in round_robin(one.parts() for one in found):
        if time.monotonic() >= end:
            break
    return {one.uid: one.figures() for one in found}


class _PodDirectories:
    """The directories of a pod on the node's own file systems, and the mounts in its volumes."""

    def __init__(self, uid: str, directory: str, logs: str, points: list[str], *, volumes: bool) -> None:
        self.uid, self._top = uid, f"{directory}/volumes"
        self._devices = [
            f"{directory}/{_DEVICES}/{plugin}/{name}"
            for plugin in (_PERSISTENT if volumes else ())
            for name in _names(f"{directory}/{_DEVICES}/{plugin}")
        ]
        top = self._top
        self._mounted = {
            "/".join(point[len(top) + 1 :].split("/")[:2]) for point in points if point.startswith(f"{top}/")
        }
        self._volumes: dict[str, DirectorySize | None] = {}
        """By path; None: the usage of its file system counts."""
        for plugin in _names(top) if volumes else ():
            for name in _names(f"{top}/{plugin}"):
                path = f"{top}/{plugin}/{name}"
                # a regular file here is a record of the volume manager
                if f"{plugin}/{name}" not in self._mounted and os.path.isdir(path):
                    self._volumes[path] = _size(path) if plugin not in _WHOLE else None
        self._logs = {name: _size(f"{logs}/{name}") for name in _names(logs, os.O_NOFOLLOW)}
        self._etc_hosts, self._messages = _size(f"{directory}/etc-hosts"), _messages(f"{directory}/containers")

    def parts(self) -> Iterator[None]:
        sizes = [*self._volumes.values(), *self._logs.values(), self._etc_hosts]
        return round_robin(one.parts() for one in sizes if one is not None)

    def figures(self) -> dict[str, Any]:
        """The figures as `measure_pods` returns them."""
        volumes = [one for path, size in self._volumes.items() if (one := _volume(path, size)) is not None]
        return {
            "volumes": {one.pop("name"): one for one in volumes},
            "logs": {name: _figures(one) for name, one in self._logs.items()},
            "own": {key: value + self._messages[key] for key, value in _figures(self._etc_hosts).items()},
            "mounted": sorted([*(f"{self._top}/{one}" for one in self._mounted), *self._devices]),
        }


def _messages(directory: str) -> dict[str, int]:
    """The files for the termination messages of a pod's containers, which can write to them without end: as to their
    /etc/hosts (CVE-2020-8557)."""
    used, inodes = 0, 0
    for container in _names(directory):
        for name in _names(f"{directory}/{container}"):
            with suppress(OSError):  # removed meanwhile
                used += os.lstat(f"{directory}/{container}/{name}").st_blocks * BLOCK
                inodes += 1
    return {"used_bytes": used, "inodes_used": inodes}


def _size(path: str) -> DirectorySize | None:
    try:
        return DirectorySize(path)
    except OSError:
        return None


def _figures(size: DirectorySize | None) -> dict[str, int]:
    return {"used_bytes": size.used_bytes if size else 0, "inodes_used": size.inodes_used if size else 0}


def measure_volumes(paths: list[str]) -> dict[str, dict[str, Any]]:
    """The figures of volumes by path, without volumes that were unmounted meanwhile.

    `name`: the volume's name in the pod; `used_bytes`, `inodes_used`, and the figures of `file_system`; `claim`, if it
    has one; `metric_source`: how it was measured; `seconds`: how long that took. A device only has `capacity_bytes`."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        size = _size(path) if path.split("/")[-2] not in _WHOLE else None
        if size is not None:
            for _ in size.parts():
                pass
        if (one := _volume(path, size)) is not None:
            found[path] = one
    return found


def _volume(path: str, size: DirectorySize | None) -> dict[str, Any] | None:
    """The figures of a volume; None: it is unmounted. `size`: None for one of _WHOLE."""
    pod_dir, kind, plugin, name = path.rsplit("/", 3)
    started_at = time.monotonic()
    try:
        if kind == _DEVICES:
            measured: dict[str, Any] = {"capacity_bytes": _device_bytes(path)}
        elif size is not None:
            measured = {**_figures(size), **file_system(path)}
        else:
            measured = dict(file_system(f"{path}/mount" if plugin == _CSI else path, whole=True))
            del measured["device"]  # nothing of it counts as the pod's use of the node's own disk
    except OSError:
        return None
    measured["seconds"] = time.monotonic() - started_at + (size.seconds if size is not None else 0.0)
    if plugin == _CSI:
        called, claim, measured["metric_source"] = _driver_volume_names(path, name)
    else:
        called, claim = _claimed_name(pod_dir, name) if plugin in _PERSISTENT else ClaimedName(name, "")
        measured["metric_source"] = "block" if kind == _DEVICES else "statfs" if plugin in _PERSISTENT else "du"
    return {"name": called, **measured, **({"claim": claim} if claim else {})}


def _device_bytes(path: str) -> int:
    """Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.lseek(fd, 0, os.SEEK_END)
    finally:
        os.close(fd)


def _claimed_name(pod_dir: str, name: str) -> ClaimedName:
    return claimed_names(pod_dir).get(name, ClaimedName(name, ""))


class _DriverVolume(msgspec.Struct, frozen=True):
    """The fields of `vol_data.json` that are read here."""

    volume: str | None = None
    claim: str | None = None
    driverName: str | None = None


def _driver_volume_names(path: str, name: str) -> tuple[str, str, str]:
    """A CSI volume's name in the pod, its claim and its driver, from the file that the volume manager wrote."""
    try:
        found = msgspec.json.decode(read_private(f"{path}/vol_data.json"), type=_DriverVolume)
    except (OSError, *UNREADABLE):
        return name, "", _CSI
    return found.volume or name, found.claim or "", found.driverName or _CSI


def _names(path: str, flags: int = 0) -> list[str]:
    """The entries of a directory, none if it cannot be read. `flags`: O_NOFOLLOW reads none through a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags)
    except OSError:
        return []
    try:
        return sorted(os.listdir(fd))
    except OSError:
        return []
    finally:
        os.close(fd)


def has_claims(pods_dir: str) -> bool:
    """Whether any pod may have a volume of a claim to measure. Reads the pods' own directories only."""
    return any(os.path.exists(claims_file(f"{pods_dir}/{uid}")) for uid in _names(pods_dir))


def file_systems(paths: list[str]) -> dict[str, dict[str, Any]]:
    """The figures of whole file systems by path, without missing paths. `source`: the mounted device in the mount
    table."""
    found: dict[str, dict[str, Any]] = {}
    sources = _sources()
    for path in paths:
        try:
            one = file_system(path, whole=True)
        except OSError:
            continue
        number = f"{os.major(one['device'])}:{os.minor(one['device'])}"
        found[path] = one | {"source": sources.get(number, number)}
    return found


def _sources() -> dict[str, str]:
    """The source of each mounted device, by `major:minor`: a disk's path, or a name if there is no disk (proc(5))."""
    found: dict[str, str] = {}
    try:
        mounts = mountinfo.read()
    except (OSError, mountinfo.MountInfoError):
        return {}
    for mount in mounts:
        found.setdefault(mount.device, mount.source.encode(errors="surrogateescape").decode(errors="replace"))
    return found


def file_system(path: str, *, whole: bool = False) -> dict[str, int]:
    """`capacity_bytes`, `available_bytes`, `inodes`, `inodes_free`, `device`. Raises OSError."""
    stat = os.statvfs(path)
    found = {
        "capacity_bytes": stat.f_blocks * stat.f_frsize,
        "available_bytes": stat.f_bavail * stat.f_frsize,
        "inodes": stat.f_files,
        "inodes_free": stat.f_ffree,
        "device": os.stat(path).st_dev,
    }
    if whole:
        found["used_bytes"] = (stat.f_blocks - stat.f_bfree) * stat.f_frsize
        found["inodes_used"] = stat.f_files - stat.f_ffree
    return found
