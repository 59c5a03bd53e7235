"""The shims of a containerd: the processes that start containers and wait for their end, one a pod.

A shim is known by the socket of its containerd and the namespace of CRI on its command line, and by its root directory,
that of containerd: any process of a container may have such a command line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec
import psutil

from actors.shared.linux.listener_pid import listener_pid
from actors.shared.linux.root_directory import RootDirectory, root_of
from supervision.time_scale import scaled

_SHIM: Final = "containerd-shim"
CRI_NAMESPACE: Final = "k8s.io"
"""Containers of other clients of containerd have another namespace, and are in no list of CRI."""
_END_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 2.0
_IDLE: Final = ("pause", "runc")
"""The programs of a sandbox, and of one that is being made (`runc`, `runc:[2:INIT]`)."""


class Shim(msgspec.Struct, frozen=True):
    """A shim that runs."""

    pid: int
    id: str
    """The id of the sandbox or container that it was started for."""
    age: float
    """Seconds."""
    bundle_removed: bool = False


def running(socket: str, now: float) -> Iterator[Shim]:
    """The shims of the containerd at this socket. `now`: seconds since 1970."""
    root = None
    for process in psutil.process_iter(["cmdline", "create_time"]):
        argv = process.info["cmdline"] or []
        of_runtime = _value(argv, "-address") == socket and _value(argv, "-namespace") == CRI_NAMESPACE
        if argv and _SHIM in argv[0] and of_runtime and (found := _value(argv, "-id")):
            root = root or _root_of_runtime(socket)
            if root_of(f"/proc/{process.pid}") != root:
                continue
            yield Shim(process.pid, found, now - process.info["create_time"], bundle_removed=_is_removed(process))


def _root_of_runtime(socket: str) -> RootDirectory | None:
    """That of the agent while no containerd listens."""
    try:
        pid: int | str = listener_pid(socket, _CONNECT_SECONDS)
    except OSError:
        pid = "self"
    return root_of(f"/proc/{pid}")


def _is_removed(process: psutil.Process) -> bool:
    """Whether the directory in which it runs was removed."""
    try:
        return not os.path.isdir(process.cwd())
    except (psutil.Error, OSError):
        return False


def _value(argv: list[str], flag: str) -> str:
    at = argv.index(flag) + 1 if flag in argv else len(argv)
    return argv[at] if at < len(argv) else ""


def has_container(programs: Iterable[str]) -> bool:
    """Whether one of the programs below a shim is a container's. Pure."""
    return any(program.partition(":")[0] not in _IDLE for program in programs)


def programs(shim: Shim) -> list[str]:
    """The programs of the processes below it, without those that have ended and wait for a shim that hangs."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for one in psutil.Process(shim.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if one.status() != psutil.STATUS_ZOMBIE:
                    found.append(one.name())
    return found


def kill(shims: Iterable[Shim]) -> None:
    """Kill them and the processes that they started."""
    for shim in shims:
        try:
            process = psutil.Process(shim.pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for one in family:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(family, scaled(_END_SECONDS))


def kill_hanging(socket: str, ids: list[str]) -> list[str]:
    """Kill the shims that were started for these sandboxes or containers, with the processes below them; the ids of
    those found. containerd then records the end of what they had. For a disposable process."""
    found = [shim for shim in running(socket, time.time()) if shim.id in ids]
    kill(found)
    return [shim.id for shim in found]
