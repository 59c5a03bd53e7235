"""All that a pod worker knows of its pod, as one immutable value.

Events (`orders`, `results`) turn one value into the next; `phases` decide on it what is done next. Nothing else changes
it. It is lost with its shard: the next incarnation reads again what the sources want and what the runtime has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, Final

import msgspec

from actors.pod_workers.containers.allocation import Allocated
from actors.pod_workers.messages import KillPod
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import grace_period
from actors.status_manager.messages import Resize, Waiting

from .table import Event, Phase, step

DEFAULT_GRACE_SECONDS: Final = 30
SANDBOX: Final = ""
"""Stands for the sandbox, where containers have their names."""
replace = msgspec.structs.replace


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the pod is to be."""

    pod: Pod | None = None
    """As it is run: with the resources that are allocated to it. None: only the runtime knows the pod."""
    data: bytes = b""
    """The same as JSON."""
    source: bytes = b""
    """The pod as its source has it, JSON."""
    removed: bool = False
    """No source has it any more; an orphan of the runtime never had one."""
    kill: KillPod | None = None
    """The first order to end it, with the shortest grace that was ordered since."""
    again: bytes = b""
    """The pod as a source has it again, while this one still ends."""

    @property
    def deleted(self) -> bool:
        """The API server waits for its end to forget it."""
        return self.pod is not None and self.pod.metadata.deletionTimestamp is not None

    @property
    def unwanted(self) -> bool:
        """No source has it, or it is deleted."""
        return self.removed or self.pod is None or self.deleted

    @property
    def leaving(self) -> bool:
        """It is to end: a start that is under way does not matter any more."""
        return self.removed or self.deleted or self.kill is not None

    @property
    def ordered_grace(self) -> int | None:
        """Seconds of grace, where an order says others than the pod does."""
        if self.kill is None:
            return None
        deletion = self.pod.metadata.deletionGracePeriodSeconds if self.pod is not None else None
        return self.kill.grace_seconds if deletion is None else min(deletion, self.kill.grace_seconds)

    @property
    def grace_seconds(self) -> int:
        """How long its end may take."""
        own = grace_period(self.pod) if self.pod is not None else DEFAULT_GRACE_SECONDS
        return own if self.ordered_grace is None else min(own, self.ordered_grace)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime has of the pod, and what this pod worker has done there since it last looked."""

    runtime: PodRuntime | None = None
    stale: bool = True
    """The runtime may have more than `runtime` says. What the PLEG tells a new shard may be older than what the last
    one did."""
    changed: bool = False
    """The pod worker has changed something, and is to look before it decides again."""
    sandboxes: tuple[str, ...] = ()
    """Ids of the sandboxes that were made since the last look."""
    containers: dict[str, str] = {}
    """Id of each container that was made since the last look, and of its sandbox."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """How the last try to start a container went, by the container's name."""

    waiting: Waiting | None = None
    """Why it does not run, as users see it."""
    not_before: float = 0.0
    """Backoff: it is not tried again before that, whatever wakes the pod worker. Seconds since 1970; 0.0: none."""
    consecutive_restarts: int = 0
    """Of an instance that was removed together with all others, for the next one; 0: none."""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one container of the runtime that the runtime does not know, by its id: probes and in-flight
    hooks."""

    unhealthy: str = ""
    """It is to be stopped, and why: `liveness` or `startup` probe, or `postStart` hook."""
    startup_passed: bool = False
    post_start_due: bool = False
    """Its hook was not run to the end, or its start was not answered and may have come about."""
    pre_stop_begun: bool = False
    """Its hook is not run again, however often its termination is tried."""
    termination_announced: bool = False
    restarting: bool = False
    """It is stopped in order to be started anew, whatever it exits with."""


class Verdicts(msgspec.Struct, frozen=True):
    """What probes and hooks found, by container id."""

    unhealthy: dict[str, str] = {}
    """Containers to stop, and why: `liveness` or `startup` probe, or `postStart` hook."""
    started: frozenset[str] = frozenset()
    """Containers whose startup probe has passed."""


class Resizing(msgspec.Struct, frozen=True, kw_only=True):
    """A resize in place (KEP-1287): what the pod was given, what it is to have, and how far that is."""

    allocated: Allocated | None = None
    """None: no resources, or not admitted yet."""
    desired: Pod | None = None
    """The pod with its spec's resources, while these are others than the allocated ones."""
    actuated: dict[str, ResourceRequirements] = {}
    """By the ids of containers that were resized."""
    pending: tuple[str, str] = ("", "")
    """Reason (Deferred, Infeasible) and message."""
    in_progress: bool = False
    error: str = ""

    def status(self) -> Resize | None:
        """For the pod's status; None for nothing to tell."""
        if not (self.pending[0] or self.in_progress):
            return None
        return Resize(*self.pending, in_progress=self.in_progress, error=self.error)


class Retry(msgspec.Struct, frozen=True):
    """Tries that failed one after the other, all phases alike."""

    failures: int = 0
    trouble: str = ""
    """Why the last one failed."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What the pod has on the node beside its containers."""

    cgroup_parent: str = ""
    volumes: dict[str, str] = {}
    """Host path of each volume."""
    groups: list[int] = []
    """Supplemental groups that the volumes need."""
    counted: bool = False
    """The container manager counts its resources."""
    unmounted: bool = False
    """Its volumes are gone."""


class Part(StrEnum):
    """A part of a round, tried once in it."""

    SHUTDOWN = "shutdown"
    ADMISSION = "admission"
    ALLOCATION = "allocation"
    ACTUATION = "actuation"
    ACTIONS = "actions"
    GARBAGE = "garbage"
    STOP = "stop"
    UNMOUNT = "unmount"
    RELEASE = "release"
    REMOVAL = "removal"


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    """One pod in the hands of its pod worker."""

    uid: str
    began: float = 0.0
    """When this pod worker began, seconds since 1970."""
    phase: Phase = Phase.ADMITTING
    wanted: Wanted = Wanted()
    view: View = View()
    attempts: dict[str, Attempt] = {}
    """By container name; the sandbox by SANDBOX."""
    instances: dict[str, Instance] = {}
    """By container id."""
    resizing: Resizing = Resizing()
    retry: Retry = Retry()
    held: Held = Held()
    reason: tuple[str, str] = ("", "")
    """Reason and message of the pod: why it was rejected or ended."""
    pulls: tuple[tuple[float, float], ...] = ()
    """Begin and end of each pull of its images, seconds since 1970."""
    due: float | None = None
    """When the pod worker is to look again at the latest, seconds since 1970; None: nothing waits for a time."""
    mount_report_due: float | None = None
    """When users are told once more which volumes the pod waits for, seconds since 1970."""
    done: frozenset[Part] = frozenset()
    """What was tried in this round."""
    told: frozenset[str] = frozenset()
    """Names of the containers (SANDBOX for the sandbox) of which users were told, since the pod worker woke, that they
    wait."""

    # -- read -----------------------------------------------------------------------------------------------------
    @property
    def runtime(self) -> PodRuntime | None:
        return self.view.runtime

    @property
    def waiting(self) -> dict[str, Waiting]:
        """Why containers do not run, by name."""
        return {name: one.waiting for name, one in self.attempts.items() if one.waiting is not None}

    @property
    def verdicts(self) -> Verdicts:
        return Verdicts(
            {key: one.unhealthy for key, one in self.instances.items() if one.unhealthy},
            frozenset(key for key, one in self.instances.items() if one.startup_passed),
        )

    @property
    def restarting(self) -> frozenset[str]:
        """Ids of containers that are stopped in order to be started anew."""
        return frozenset(key for key, one in self.instances.items() if one.restarting)

    @property
    def label(self) -> str:
        """For the log."""
        if self.wanted.pod is not None:
            meta = self.wanted.pod.metadata
            return f"{meta.namespace}/{meta.name} ({self.uid})"
        runtime = self.runtime
        return f"{runtime.namespace}/{runtime.name} ({self.uid})" if runtime is not None else self.uid

    @property
    def sandbox_ip(self) -> str:
        """Empty for a pod on the host's network."""
        sandboxes = self.runtime.sandboxes if self.runtime is not None else []
        return sandboxes[0].ips[0] if sandboxes and sandboxes[0].ips else ""

    @property
    def on_host_network(self) -> bool:
        """As the pod says; of one that only the runtime knows, its newest sandbox."""
        if self.wanted.pod is not None:
            return self.wanted.pod.spec.hostNetwork
        return self.runtime is not None and any(sandbox.host_network for sandbox in self.runtime.sandboxes[:1])

    # -- change ---------------------------------------------------------------------------------------------------
    def after(self, event: Event) -> PodState:
        """In the next phase. Raises IllegalTransition."""
        return replace(self, phase=step(self.phase, event), done=frozenset())

    def did(self, part: Part) -> PodState:
        return replace(self, done=self.done | {part})

    def due_by(self, when: float | None) -> PodState:
        """Woken at that time, or before."""
        if when is None or (self.due is not None and self.due <= when):
            return self
        return replace(self, due=when)

    def with_attempts(self, names: Iterable[str], **changes: Any) -> PodState:
        """The same with these fields of the attempts of these containers."""
        attempts = dict(self.attempts)
        for name in names:
            attempts[name] = replace(attempts.get(name, Attempt()), **changes)
        return replace(self, attempts={name: one for name, one in attempts.items() if one != Attempt()})

    def with_instances(self, ids: Iterable[str], **changes: Any) -> PodState:
        """The same with these fields of these instances."""
        instances = dict(self.instances)
        for key in ids:
            instances[key] = replace(instances.get(key, Instance()), **changes)
        return replace(self, instances={key: one for key, one in instances.items() if one != Instance()})

    def with_instances_of(self, ids: Collection[str]) -> PodState:
        """The same without all other instances: the runtime has them no more."""
        return replace(self, instances={key: one for key, one in self.instances.items() if key in ids})
