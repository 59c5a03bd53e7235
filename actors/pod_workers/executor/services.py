"""The services that all pod workers of a shard share."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from actors.pod_workers.garbage.container_gc import ContainerGcPolicy
from actors.pod_workers.messages import RuntimeHealth
from actors.pod_workers.phases.step import StepInput
from actors.shared.clock_jumps import WallClock
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.tracing.tracer import Tracer
from supervision.actor import Actor

from .container_starter import ContainerStarter
from .kept_resources import KeptResources


class ExecutorContext(msgspec.Struct, frozen=True, kw_only=True):
    """Created once by the shard."""

    actor: Actor
    agent: Agent
    client: CriClient
    starter: ContainerStarter
    kept_resources: KeptResources
    tracer: Tracer
    clock: WallClock
    rng: random.Random
    health: Callable[[], RuntimeHealth]
    """The last health of the runtime and its network, from the PLEG."""
    garbage: ContainerGcPolicy
    maximum_backoff: float
    """The maximum seconds between restarts of a failing container."""
    start_seconds: float
    """Seconds that an earlier start may be under way before it counts as a failure: runtimeRequestTimeout."""
    sync_seconds: float
    """The period after which a pod worker synchronizes its pod without news."""
    ends_pods: bool
    apparmor: bool

    def facts(self) -> StepInput:
        """The current facts for decisions."""
        health = self.health()
        return StepInput(
            now=self.clock(),
            maximum_backoff=self.maximum_backoff,
            network_ready=health.network_ready,
            network_message=health.message,
            ends_pods=self.ends_pods,
            keeps_volumes=bool(self.agent.flags.get("keep-terminated-pod-volumes")),
            garbage=self.garbage,
        )
