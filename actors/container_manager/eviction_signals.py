"""The eviction signals: what is left of memory, disk and process IDs. Runs in a disposable process: a disk may hang."""

from __future__ import annotations

import os
from pathlib import Path

from actors.shared.linux.memory import read_memory


def read(disks: dict[str, str], host: str = "") -> dict[str, list[int]]:
    """By signal of eviction: available and capacity. `disks`: a directory of each of nodefs and imagefs; `host`: the
    root directory of a made-up host. A signal that cannot be read is left out.

    As in the reference on cgroup v2, memory that is neither free nor inactive file pages is in use.
    """
    found: dict[str, list[int]] = {}
    for name, directory in disks.items():
        try:
            stat = os.statvfs(directory)
        except OSError:
            continue
        found[f"{name}.available"] = [stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize]
        if stat.f_files:  # some file systems count none
            found[f"{name}.inodesFree"] = [stat.f_ffree, stat.f_files]
    try:
        memory = read_memory(f"{host}/proc")
        found["memory.available"] = [memory["MemFree"] + memory.get("Inactive(file)", 0), memory["MemTotal"]]
    except (OSError, KeyError):
        pass
    try:
        most = min(_number(f"{host}/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max"))
        running = int(Path(host or "/", "proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
        found["pid.available"] = [most - running, most]
    except (OSError, ValueError, IndexError):
        pass
    return found


def _number(path: str) -> int:
    return int(Path(path).read_text("ascii"))
