"""Leaked shims of the runtime, some 10 MB each: containerd leaves them when it dies during RunPodSandbox, and when the
caller of one of its calls is killed.

A shim has leaked when the runtime, asked, has neither a sandbox nor a container of its id, and it is older than any
call that may still be making one. One with a container that runs has not leaked: containerd that started on a full disk
does not list what it runs, and lists it again after its next start. That of an external containerd is ended only if
containerd has also removed its bundle, the directory in which the shim runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from . import leaked_addresses, shims
from .shims import Shim

LEAST_AGE_SECONDS: Final = 600.0
"""RunPodSandbox may take four minutes; the list that a shim is compared with may be a minute old."""


def leaked(found: Iterable[Shim], known: Iterable[str], *, managed: bool) -> list[Shim]:
    """The shims that belong to no sandbox or container of the runtime. Pure."""
    there = frozenset(known)
    return [
        shim
        for shim in found
        if shim.age >= LEAST_AGE_SECONDS and shim.id not in there and (managed or shim.bundle_removed)
    ]


def sweep(socket: str, known: list[str], now: float, managed: bool) -> tuple[list[str], list[str], list[str]]:
    """End the leaked ones; their ids, the ids of those that have a container, so are only unlisted, and the addresses
    that a managed runtime had for no sandbox. For a disposable process."""
    there = list(shims.running(socket, now))
    found = leaked(there, known, managed=managed)
    busy = [shim for shim in found if shims.has_container(shims.programs(shim))]
    idle = [shim for shim in found if shim not in busy]
    shims.kill(idle)
    released = []
    if managed:
        kept = {*known, *(shim.id for shim in there if shim not in idle)}
        released = leaked_addresses.release(f"{os.path.dirname(socket)}/{leaked_addresses.FOLDER}", kept, now)
    return [shim.id for shim in idle], [shim.id for shim in busy], released
