"""Leaked shims of the runtime, some 10 MB each: containerd leaves them when it dies during RunPodSandbox, and when the
caller of one of its calls is killed.

A shim has leaked when the runtime, asked, has neither a sandbox nor a container of its id, and no call may still be
making one: the shim is older than any call, or, of a managed runtime, older than the process of containerd. One with a
container that runs has not leaked: containerd that started on a full disk
does not list what it runs, and lists it again after its next start. That of an external containerd is ended only if
containerd has also removed its bundle, the directory in which the shim runs, or has forgotten it (`forgotten_shims`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psutil

from actors.shared.linux.listener_pid import listener_pid

from . import leaked_addresses, shims
from .shims import Shim

LEAST_AGE_SECONDS: Final = 600.0
"""RunPodSandbox may take four minutes; the list that a shim is compared with may be a minute old."""
_TICK_SECONDS: Final = 0.1
"""More than the kernel's times of two processes differ from their real ones."""
_CLOCK_SECONDS: Final = 2.0
"""More than the start of a process, by the kernel, differs from the clock."""
_CONNECT_SECONDS: Final = 2.0


def leaked(
    found: Iterable[Shim], known: Iterable[str], *, managed: bool, least_age: float = LEAST_AGE_SECONDS
) -> list[Shim]:
    """The shims that belong to no sandbox or container of the runtime. Pure."""
    there = frozenset(known)
    return [
        shim for shim in found if shim.age >= least_age and shim.id not in there and (managed or shim.bundle_removed)
    ]


def age_without_call(runtime_age: float, list_age: float) -> float:
    """The age from which on no call may still be making a shim that the list lacks: an earlier process of containerd
    has left it, if the list is of the present one. Pure."""
    if list_age + _CLOCK_SECONDS > runtime_age:
        return LEAST_AGE_SECONDS
    return min(LEAST_AGE_SECONDS, runtime_age + _TICK_SECONDS)


def left_by_earlier_runtime(found: Iterable[Shim], runtime_age: float, list_age: float) -> list[Shim]:
    """The shims that are older than the process of containerd; none if the list is not surely of that process. Pure."""
    if list_age + _CLOCK_SECONDS > runtime_age:
        return []
    return [shim for shim in found if shim.age >= runtime_age + _TICK_SECONDS]


def sweep(
    socket: str, known: list[str], now: float, managed: bool, list_age: float
) -> tuple[list[str], list[str], list[str]]:
    """End the leaked ones; their ids, the ids of those that have a container, so are only unlisted, and the addresses
    that a managed runtime had for no sandbox. For a disposable process. `known`: what the runtime listed `list_age`
    seconds ago."""
    there = list(shims.running(socket, now))
    found = leaked(there, known, managed=managed)
    if managed:
        early = leaked(there, known, managed=True, least_age=age_without_call(runtime_age(socket, now), list_age))
        if not any(shims.has_container(shims.programs(shim)) for shim in early):  # else the runtime has lost its list
            found = early
    busy = [shim for shim in found if shims.has_container(shims.programs(shim))]
    idle = [shim for shim in found if shim not in busy]
    shims.kill(idle)
    released = []
    if managed:
        kept = {*known, *(shim.id for shim in there if shim not in idle)}
        released = leaked_addresses.release(f"{os.path.dirname(socket)}/{leaked_addresses.FOLDER}", kept, now)
    return [shim.id for shim in idle], [shim.id for shim in busy], released


def runtime_age(socket: str, now: float) -> float:
    """Seconds for which the process that listens there has run; 0 if it is not known."""
    with suppress(OSError, psutil.Error):
        return now - psutil.Process(listener_pid(socket, _CONNECT_SECONDS)).create_time()
    return 0.0
