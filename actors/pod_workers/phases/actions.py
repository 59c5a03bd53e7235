"""The actions for the sandbox and the containers of a pod, as data."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.shared.cri.model import CriContainer
from actors.shared.kube.container import Container


class Kill(msgspec.Struct, frozen=True):
    container: CriContainer
    why: str
    probe: str = ""
    """`liveness` or `startup`, if that probe's grace period may apply; `postStart` for the hook."""
    restart: bool = False
    """Whether it is restarted, whatever its exit code."""


class Start(msgspec.Struct, frozen=True):
    container: Container
    restart_count: int
    consecutive_restarts: int = 0
    """The number of restarts without a long run between them, this one included."""


class ContainerBackoff(msgspec.Struct, frozen=True):
    """A container in crash-loop backoff (`shared/cri/crash_loop.py`), until a time in seconds since 1970."""

    name: str
    until: float
    last: CriContainer


class PodActions(msgspec.Struct, frozen=True, kw_only=True):
    """The actions to perform now: first kills, then the sandbox, then starts."""

    kill_pod: bool = False
    """Stop all containers and sandboxes first, because the sandbox is replaced or the pod has ended."""
    create_sandbox: bool = False
    attempt: int = 0
    restart_all: list[CriContainer] = []
    """Containers whose exit restarts the whole pod: all are stopped and removed, these last."""
    kill: list[Kill] = []
    resume: list[CriContainer] = []
    """Containers that an earlier incarnation created but did not start."""
    start: list[Start] = []
    backoff: list[ContainerBackoff] = []
    done: bool = False
    """Every container has ended and none restarts: the pod is complete."""
    initialized: bool = False


def earliest(backoffs: Iterable[ContainerBackoff]) -> float:
    """The earliest start of a waiting container, seconds since 1970; 0: none waits."""
    return min((backoff.until for backoff in backoffs), default=0.0)
