"""The actions for the sandbox and the containers of a pod, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.state_values import Verdicts
from actors.shared.cri.model import CriContainer, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod


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


class ActionsInput(NamedTuple):
    """What the actions for a running pod follow from."""

    pod: Pod
    runtime: PodRuntime
    verdicts: Verdicts
    now: float
    """Seconds since 1970."""
    maximum_backoff: float
    """The maximum seconds between restarts of a failing container."""
    restarting: AbstractSet[str] = frozenset()
    """Ids of the containers that are stopped for a restart."""
    stopped: AbstractSet[str] = frozenset()
    """Ids of the containers that the runtime has stopped."""
    lost: Mapping[str, LostContainer] = MappingProxyType({})
    """The containers that the runtime has lost, by name."""


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
