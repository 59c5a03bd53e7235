"""What all pod workers of a shard use."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from actors.pod_workers.garbage.container_gc import Policy
from actors.pod_workers.messages import RuntimeHealth
from actors.pod_workers.phases.step import Facts
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.tracing.tracer import Tracer
from supervision.actor import Actor
from supervision.quarantine import Journal

from .container_starter import ContainerStarter


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """Made once by the shard."""

    actor: Actor
    agent: Agent
    client: CriClient
    starter: ContainerStarter
    journal: Journal
    """Which pod is decided on."""
    tracer: Tracer
    clock: Callable[[], float]
    """Seconds since 1970."""
    rng: random.Random
    health: Callable[[], RuntimeHealth]
    """What the PLEG said last of the runtime and its network."""
    garbage: Policy
    maximum_backoff: float
    """Seconds between restarts of a container that keeps failing, at most."""
    sync_seconds: float
    """After so long a pod worker looks at its pod again, whether there is news or not."""
    shutdown_windows: bool
    apparmor: bool

    def facts(self) -> Facts:
        """What decisions depend on now."""
        health = self.health()
        return Facts(
            now=self.clock(),
            maximum_backoff=self.maximum_backoff,
            network_ready=health.network_ready,
            network_message=health.message,
            shutdown_windows=self.shutdown_windows,
            garbage=self.garbage,
        )
