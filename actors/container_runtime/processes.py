"""The processes of a managed runtime that outlive it: found by what started them, ended, their cgroups removed."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from actors.shared.linux import mountinfo
from supervision.process_stat import is_alive
from supervision.time_scale import scaled

from .instance import ManagedRuntime

_SHIM: Final = "containerd-shim"
_END_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.01
_STOP_SECONDS: Final = 5.0
_SOCKET: Final = re.compile(r"unix://(/[^\"\s]+)")
_POD: Final = re.compile(r"^pod[0-9a-f]|-pod[0-9a-f_]+\.slice$")


def end_containerd(instance: ManagedRuntime) -> None:
    """End the instance's containerd, by SIGTERM and then SIGKILL; it is known by its configuration file."""
    running = [pid for pid, argv in commands() if instance.config_file in argv and _SHIM not in argv[0]]
    for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _END_SECONDS)):
        _signal(running, number)
        if _wait_gone(running, seconds):
            return


def end_containers(instance: ManagedRuntime) -> set[str]:
    """Kill all containers and then their shims, remove the shims' sockets. Returns the cgroups of their pods.

    A container is known by the pid in its task directory (checked: the id is in its cgroup), so no other is hit.
    """
    groups: set[str] = set()
    for task in _directories(instance.tasks):
        pid = _number(task / "init.pid")
        groups |= {with_pod(group) for group in cgroups_of(pid) if task.name in group}
    kill_all_in(groups)
    shims = [pid for pid, argv in commands() if _SHIM in argv[0] and instance.socket in argv]
    _signal(shims, signal.SIGKILL)
    _wait_gone(shims, _END_SECONDS)
    for socket in shim_sockets(instance):
        socket.unlink(missing_ok=True)
    return groups


def commands() -> Iterator[tuple[int, list[str]]]:
    """Pid and argv of every process of this host that has one."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                argv = Path(entry.path, "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
                if argv[0]:
                    yield int(entry.name), argv


def cgroups_of(pid: int) -> set[str]:
    """The cgroups of a process, without the leading slash; none when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return set()
    return {path for line in lines if (path := line.split(":", 2)[2].strip("/"))}


def with_pod(group: str) -> str:
    """The pod's cgroup (`pod<uid>`, or its slice) if the container's cgroup is in one, else the container's own."""
    parent = group.rpartition("/")[0]
    return parent if _POD.search(parent.rpartition("/")[2]) else group


def kill_all_in(groups: Iterable[str]) -> None:
    """Kill all processes in these cgroups and below, repeatedly, because they may fork meanwhile."""
    directories = [path for group in groups for path in _in_hierarchies(group)]
    deadline = time.monotonic() + scaled(_END_SECONDS)
    while pids := {pid for directory in directories for pid in _members(directory)}:
        _signal(pids, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_SECONDS)


def remove_cgroups(groups: Iterable[str]) -> list[str]:
    """Remove these cgroups and all below them in every hierarchy, killing their processes. Returns those that are
    left."""
    wanted = [group for group in groups if group]  # never the root
    kill_all_in(wanted)
    left = []
    for top in (path for group in wanted for path in _in_hierarchies(group)):
        for directory, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                os.rmdir(directory)
        if top.exists():
            left.append(str(top))
    return left


def _in_hierarchies(group: str) -> list[Path]:
    """The directories of a cgroup in the hierarchies where it exists: one on v2, one for each controller on v1."""
    return [path for top in hierarchies() if (path := Path(top, group)).is_dir()]


def hierarchies() -> list[str]:
    """The mount points of cgroup hierarchies: one on v2, one for each controller on v1."""
    return sorted({mount.point for mount in mountinfo.read() if mount.kind in {"cgroup", "cgroup2"}})


def _members(directory: Path) -> Iterator[int]:
    for path, _, _ in os.walk(directory):
        with suppress(OSError):
            yield from map(int, Path(path, "cgroup.procs").read_text().split())


def shim_sockets(instance: ManagedRuntime) -> list[Path]:
    """The sockets of all shims, each once, which lie outside our directories. containerd 2 keeps their paths as JSON,
    older ones as text, and the containers of a pod share one.
    """
    found = []
    for task in _directories(instance.tasks):
        for name in ("address", "bootstrap.json"):
            with suppress(OSError):
                found += _SOCKET.findall((task / name).read_text())
    return [Path(path) for path in dict.fromkeys(found)]


def _directories(parent: str) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _wait_gone(pids: list[int], seconds: float) -> bool:
    """Whether all have ended in time. A zombie that its parent has not reaped yet has ended."""
    deadline = time.monotonic() + seconds
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
