"""A pod worker's whole state, as one immutable value.

Events (`orders`, `results`) turn one value into the next; `phases` decide the next step from it. Nothing else changes
it. It is lost with its shard: the next incarnation rebuilds it from the sources and the runtime.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.resource_claims import has_claims
from actors.status_manager.messages import Waiting

from .desired_state import DesiredState
from .lost_container import LostContainer
from .phase_transitions import PodWorkerEvent, PodWorkerPhase, step
from .resize_progress import ResizeProgress
from .state_values import (
    AcquiredResources,
    Attempt,
    ContainerInstance,
    PodView,
    Retry,
    Round,
    RoundPart,
    Verdicts,
)
from .unlisted_containers import UnlistedContainers

SANDBOX: Final = ""
"""The key of the sandbox, beside the container names."""
replace = msgspec.structs.replace


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one pod."""

    uid: str
    started_at: float = 0.0
    """When this pod worker started, seconds since 1970."""
    phase: PodWorkerPhase = PodWorkerPhase.ADMITTING
    wanted: DesiredState = DesiredState()
    view: PodView = PodView()
    attempts: dict[str, Attempt] = {}
    """By container name; the sandbox's key is SANDBOX."""
    instances: dict[str, ContainerInstance] = {}
    """By container id."""
    resizing: ResizeProgress = ResizeProgress()
    retry: Retry = Retry()
    acquired: AcquiredResources = AcquiredResources()
    reason: tuple[str, str] = ("", "")
    """Reason and message of the pod's rejection or end."""
    pulls: tuple[tuple[float, float], ...] = ()
    """Start and end of each pull of its images, seconds since 1970."""
    due: float | None = None
    """The latest start of the next round, seconds since 1970; None: only an event starts it."""
    mount_report_due: float | None = None
    """When the next event about missing volumes is due, seconds since 1970."""
    round: Round = Round()

    # -- queries -----------------------------------------------------------------------------------------------------
    @property
    def runtime(self) -> PodRuntime | None:
        return self.view.runtime

    @property
    def unlisted(self) -> UnlistedContainers:
        return self.view.unlisted

    @property
    def done(self) -> frozenset[RoundPart]:
        """The parts already tried in this round."""
        return self.round.done

    @property
    def waiting(self) -> dict[str, Waiting]:
        """The waiting states of containers, by name."""
        return {name: one.waiting for name, one in self.attempts.items() if one.waiting is not None}

    @property
    def verdicts(self) -> Verdicts:
        return Verdicts(
            {key: one.unhealthy for key, one in self.instances.items() if one.unhealthy},
            frozenset(key for key, one in self.instances.items() if one.startup_passed),
        )

    @property
    def restarting(self) -> frozenset[str]:
        """Ids of containers that are stopped for a restart."""
        return frozenset(key for key, one in self.instances.items() if one.restarting)

    @property
    def lost(self) -> dict[str, LostContainer]:
        """The containers that the runtime has lost, by name."""
        return {name: one.lost for name, one in self.attempts.items() if one.lost is not None}

    @property
    def stopped(self) -> frozenset[str]:
        """Ids of containers that the runtime has stopped."""
        return frozenset(key for key, one in self.instances.items() if one.stopped)

    def is_start_interrupted(self, container_id: str) -> bool:
        """Whether the runtime ended during the start of this container."""
        return self.instances.get(container_id, ContainerInstance()).start_interrupted

    def is_start_answered(self, container_id: str) -> bool:
        """Whether the runtime has answered that this container is started."""
        return self.instances.get(container_id, ContainerInstance()).start_answered

    @property
    def label(self) -> str:
        """The name of the pod for the log."""
        if self.wanted.pod is not None:
            meta = self.wanted.pod.metadata
            return f"{meta.namespace}/{meta.name} ({self.uid})"
        runtime = self.runtime
        return f"{runtime.namespace}/{runtime.name} ({self.uid})" if runtime is not None else self.uid

    @property
    def sandbox_ip(self) -> str:
        """The address of the sandbox; empty with hostNetwork."""
        sandboxes = self.runtime.sandboxes if self.runtime is not None else []
        return sandboxes[0].ips[0] if sandboxes and sandboxes[0].ips else ""

    @property
    def on_host_network(self) -> bool:
        """Whether the pod uses the node's network, by its spec; by its newest sandbox if only the runtime knows the
        pod."""
        if self.wanted.pod is not None:
            return self.wanted.pod.spec.hostNetwork
        return self.runtime is not None and any(sandbox.host_network for sandbox in self.runtime.sandboxes[:1])

    @property
    def may_have_claims(self) -> bool:
        """Whether resource claims may be prepared for it. Unknown, so true, for a pod that only the runtime knows."""
        return self.wanted.pod is None or has_claims(self.wanted.pod)

    def may_be_under_way(self, name: str, now: float, seconds: float) -> bool:
        """Whether an earlier start has been under way for less than `seconds`, so that it may go on."""
        since = self.attempts.get(name, Attempt()).under_way_since or now
        return since <= now < since + seconds

    # -- changes ---------------------------------------------------------------------------------------------------
    def after(self, event: PodWorkerEvent) -> PodState:
        """The pod in the next phase. Raises IllegalTransition."""
        return replace(self.undone(), phase=step(self.phase, event))

    def did(self, part: RoundPart) -> PodState:
        return replace(self, round=replace(self.round, done=self.done | {part}))

    def undone(self) -> PodState:
        """All parts may be tried again in this round."""
        return replace(self, round=replace(self.round, done=frozenset()))

    def announce_network(self) -> PodState:
        """Note that this round has emitted the event that the pod waits for a network."""
        return replace(self, round=replace(self.round, network_announced=True))

    def due_by(self, when: float | None) -> PodState:
        """Set `due` to that time, unless it is earlier."""
        if when is None or (self.due is not None and self.due <= when):
            return self
        return replace(self, due=when)

    def with_attempts(self, names: Iterable[str], **changes: Any) -> PodState:
        """Change fields of the attempts of these containers."""
        attempts = dict(self.attempts)
        for name in names:
            attempts[name] = replace(attempts.get(name, Attempt()), **changes)
        return replace(self, attempts={name: one for name, one in attempts.items() if one != Attempt()})

    def with_instances(self, ids: Iterable[str], **changes: Any) -> PodState:
        """Change fields of these instances."""
        instances = dict(self.instances)
        for key in ids:
            instances[key] = replace(instances.get(key, ContainerInstance()), **changes)
        return replace(self, instances={key: one for key, one in instances.items() if one != ContainerInstance()})

    def with_instances_of(self, ids: Collection[str]) -> PodState:
        """Drop all other instances: the runtime no longer has them."""
        return replace(self, instances={key: one for key, one in self.instances.items() if key in ids})
