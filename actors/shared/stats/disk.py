"""The size of directories, and the free space of their file systems. Runs in a disposable process: a disk may hang.

Files with several names are counted once, and nothing on another file system is (as du -x does). What is mounted in a
pod's volumes is not touched by `measure_pods`, as any of it may hang: `measure_volumes` measures that.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from actors.shared.linux import mountinfo

_BLOCK = 512
_IN_MEMORY = ("tmpfs", "hugetlbfs")
"""File systems that never wait for anything."""
_NFS, _CSI = "kubernetes.io~nfs", "kubernetes.io~csi"


def measure_pods(pods: list[list[str]]) -> dict[str, dict[str, Any]]:
    """Each pod as [uid, its directory, directory of its logs]; by uid: `volumes` and `logs` by name, and `own` (what
    the agent wrote for it), each with `used_bytes` and `inodes_used`, and for volumes what `measure_volumes` answers
    but the name; `mounted`: the paths of the volumes that are left to that."""
    points = [mount.point for mount in mountinfo.read() if mount.kind not in _IN_MEMORY]
    return {uid: _measure_pod(os.path.realpath(directory), logs, points) for uid, directory, logs in pods}


def _measure_pod(directory: str, logs: str, points: list[str]) -> dict[str, Any]:
    volumes: dict[str, dict[str, Any]] = {}
    top = f"{directory}/volumes"
    mounted = {"/".join(point[len(top) + 1 :].split("/")[:2]) for point in points if point.startswith(f"{top}/")}
    for plugin in _names(top):
        for name in _names(f"{top}/{plugin}"):
            path = f"{top}/{plugin}/{name}"
            # what is no directory is a note of the volume manager
            if f"{plugin}/{name}" not in mounted and os.path.isdir(path):
                volumes |= {one.pop("name"): one for one in measure_volumes([path]).values()}
    return {
        "volumes": volumes,
        "logs": {name: _of(f"{logs}/{name}") for name in _names(logs)},
        "own": _of(f"{directory}/etc-hosts"),
        "mounted": sorted(f"{top}/{one}" for one in mounted),
    }


def measure_volumes(paths: list[str]) -> dict[str, dict[str, Any]]:
    """By path, without those that went away: `name` as the pod calls it, `used_bytes` and `inodes_used`, the figures of
    `file_system`, the name of the `claim`, if there is one, and how it was measured (`metric_source`) and for how many
    `seconds`."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        plugin, name = path.split("/")[-2:]
        began = time.monotonic()
        try:
            measured = _measure_volume(plugin, path)
        except OSError:
            continue  # unmounted meanwhile
        measured["seconds"] = time.monotonic() - began
        called, claim, driver = _called(path, name) if plugin == _CSI else (name, "", "")
        measured["metric_source"] = driver or ("statfs" if plugin == _NFS else "du")
        found[path] = {"name": called, **measured, **({"claim": claim} if claim else {})}
    return found


def _called(path: str, name: str) -> tuple[str, str, str]:
    """What the pod calls a driver's volume, its claim and its driver, as the volume manager has written it there."""
    try:
        with open(f"{path}/vol_data.json", "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return name, "", _CSI
    return found.get("volume") or name, found.get("claim") or "", found.get("driverName") or _CSI


def _measure_volume(plugin: str, path: str) -> dict[str, Any]:
    """A file system of a server or driver may be huge, and is the volume's own: what is used there is all that is."""
    if plugin in (_NFS, _CSI):
        return file_system(path if plugin == _NFS else f"{path}/mount", whole=True)
    return {**_walk(path), **file_system(path)}


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def _of(path: str) -> dict[str, int]:
    try:
        return _walk(path)
    except OSError:
        return {"used_bytes": 0, "inodes_used": 0}


def has_claims(pods_dir: str) -> bool:
    """Whether any pod may have the volume of a claim that is measured. Touches the pods' own directories only."""
    return any(os.path.exists(f"{pods_dir}/{uid}/volumes/{_CSI}") for uid in _names(pods_dir))


def file_systems(paths: list[str]) -> dict[str, dict[str, Any]]:
    """By path, without missing ones: the used bytes are those of the whole file system. `source`: what is mounted,
    as the mount table has it."""
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
    """What is mounted from each device, by `major:minor`: a disk's path, or the name of what has no disk (proc(5))."""
    found: dict[str, str] = {}
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                end = words.index("-") if "-" in words else len(words)
                if end + 2 < len(words):
                    found.setdefault(words[2], words[end + 2])
    except OSError:
        return {}
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


def _walk(path: str) -> dict[str, int]:
    top = os.lstat(path)
    used, inodes = top.st_blocks * _BLOCK, 1
    seen: set[int] = set()
    left: list[Any] = [path]
    while left:
        try:
            entries = os.scandir(left.pop())
        except OSError:
            continue  # a file, or it went away meanwhile
        with entries:
            for entry in entries:
                try:
                    stat = entry.stat(follow_symlinks=False)
                    directory = entry.is_dir(follow_symlinks=False)
                except OSError:
                    continue
                if stat.st_dev != top.st_dev or stat.st_ino in seen:
                    continue
                if stat.st_nlink > 1 and not directory:
                    seen.add(stat.st_ino)
                used += stat.st_blocks * _BLOCK
                inodes += 1
                if directory:
                    left.append(entry.path)
    return {"used_bytes": used, "inodes_used": inodes}
