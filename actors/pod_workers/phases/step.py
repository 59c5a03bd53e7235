"""What a phase is given, and what it answers."""

from __future__ import annotations

import msgspec

from actors.pod_workers.garbage.container_gc import Policy
from actors.pod_workers.pod.state import PodState

from .effects import Effect


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision depends on beside the pod."""

    now: float
    """Seconds since 1970."""
    maximum_backoff: float = 300.0
    """Seconds between restarts of a container that keeps failing, at most."""
    network_ready: bool = True
    network_message: str = ""
    """What is wrong with it."""
    shutdown_windows: bool = False
    """The node ends its pods before it shuts down."""
    garbage: Policy = Policy()
    """Which dead containers stay."""


class Step(msgspec.Struct, frozen=True):
    """The next value of the pod, in the same phase or the next one, and what is done now. Neither another phase nor an
    effect: the pod waits for news, or until it is due."""

    state: PodState
    effects: tuple[Effect, ...] = ()
