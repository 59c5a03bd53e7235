"""Leaked shims of the runtime, some 10 MB each: containerd leaves them when it dies during RunPodSandbox, and when the
caller of one of its calls is killed.

A shim is known by the socket of its containerd and the namespace of CRI on its command line. It has leaked when the
runtime, asked, has neither a sandbox nor a container of its id, and it is older than any call that may still be making
one. One with a container that runs has not leaked: containerd that started on a full disk does not list what it runs,
and lists it again after its next start. That of an external containerd is ended only if containerd has also removed its
bundle, the directory in which the shim runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec
import psutil

from supervision.time_scale import scaled

from . import leaked_addresses
from .instance import ADDRESSES

_SHIM: Final = "containerd-shim"
CRI_NAMESPACE: Final = "k8s.io"
"""Containers of other clients of containerd have another namespace, and are in no list of CRI."""
LEAST_AGE_SECONDS: Final = 600.0
"""RunPodSandbox may take four minutes; the list that a shim is compared with may be a minute old."""
_END_SECONDS: Final = 5.0
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


def leaked(shims: Iterable[Shim], known: Iterable[str], *, managed: bool) -> list[Shim]:
    """The shims that belong to no sandbox or container of the runtime. Pure."""
    there = frozenset(known)
    return [
        shim
        for shim in shims
        if shim.age >= LEAST_AGE_SECONDS and shim.id not in there and (managed or shim.bundle_removed)
    ]


def running(socket: str, now: float) -> Iterator[Shim]:
    """The shims of the containerd at this socket. `now`: seconds since 1970."""
    for process in psutil.process_iter(["cmdline", "create_time"]):
        argv = process.info["cmdline"] or []
        of_runtime = _value(argv, "-address") == socket and _value(argv, "-namespace") == CRI_NAMESPACE
        if argv and _SHIM in argv[0] and of_runtime and (found := _value(argv, "-id")):
            yield Shim(process.pid, found, now - process.info["create_time"], bundle_removed=_is_removed(process))


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


def end(shims: Iterable[Shim]) -> None:
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


def sweep(socket: str, known: list[str], now: float, managed: bool) -> tuple[list[str], list[str], list[str]]:
    """End the leaked ones; their ids, the ids of those that have a container, so are only unlisted, and the addresses
    that a managed runtime had for no sandbox. For a disposable process."""
    shims = list(running(socket, now))
    found = leaked(shims, known, managed=managed)
    busy = [shim for shim in found if has_container(programs(shim))]
    idle = [shim for shim in found if shim not in busy]
    end(idle)
    released = []
    if managed:
        kept = {*known, *(shim.id for shim in shims if shim not in idle)}
        released = leaked_addresses.release(f"{os.path.dirname(socket)}/{ADDRESSES}", kept, now)
    return [shim.id for shim in idle], [shim.id for shim in busy], released
