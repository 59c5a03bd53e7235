"""What is to be done with the sandbox and the containers of a pod, as data."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.shared.cri.model import Container as Ran
from actors.shared.kube.container import Container


class Kill(msgspec.Struct, frozen=True):
    container: Ran
    why: str
    probe: str = ""
    """`liveness` or `startup`, whose own grace period may count; `postStart` for the hook."""
    restart: bool = False
    """It is started anew, whatever it exits with."""


class Start(msgspec.Struct, frozen=True):
    container: Container
    restart_count: int
    consecutive_restarts: int = 0
    """How many, this one included, without a long run between them."""


class Backoff(msgspec.Struct, frozen=True):
    """A container that waits: until when, in seconds since 1970."""

    name: str
    until: float
    last: Ran


class PodActions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is to be done now; kills come first, then the sandbox, then the starts."""

    kill_pod: bool = False
    """Stop all containers and sandboxes first: the sandbox is to be replaced, or the pod has ended."""
    create_sandbox: bool = False
    attempt: int = 0
    restart_all: list[Ran] = []
    """Containers whose exit restarts all others, too: everything is stopped and removed, these last."""
    kill: list[Kill] = []
    resume: list[Ran] = []
    """Created by an earlier incarnation that did not get to start them."""
    start: list[Start] = []
    backoff: list[Backoff] = []
    done: bool = False
    """Every container has ended and none is to run again: the pod is complete."""
    initialized: bool = False


def earliest(backoffs: Iterable[Backoff]) -> float:
    """When the first of them may start, seconds since 1970; 0 when none waits."""
    return min((backoff.until for backoff in backoffs), default=0.0)
