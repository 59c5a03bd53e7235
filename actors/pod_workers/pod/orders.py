"""Events from other actors: the pod's source, an evicting actor, the PLEG and the prober.

An event that changes nothing does not wake the pod worker, so a backoff continues.
"""

from __future__ import annotations

from typing import Literal

from actors.pod_workers.containers import allocation
from actors.pod_workers.messages import KillPod
from actors.shared.cri.model import PodRuntime, is_running
from actors.shared.kube.codec import encode
from actors.shared.kube.pod import Pod
from actors.shared.kube.restart_policy import RESTARTING_ALL

from .event import PodEvent
from .phase_transitions import PodWorkerPhase
from .resize_progress import ResizeProgress, without_request
from .runtime import lost, lost_meanwhile, with_addresses
from .state import PodState, replace
from .state_values import ContainerInstance


class PodWanted(PodEvent, frozen=True):
    """The desired pod.

    A pod that is removed and returns with the same UID (a restored manifest) first ends, then starts again; its dead
    containers stay and count as restarts.
    """

    pod: Pod
    data: bytes
    """The pod as JSON."""
    kept: allocation.StoredAllocation | None = None
    """The resources that an earlier incarnation allocated to it."""

    def apply(self, state: PodState) -> PodState:
        wanted = state.wanted
        if self.data == wanted.source and not wanted.removed:
            return state
        if wanted.deleted and self.pod.metadata.deletionTimestamp is None and not wanted.removed:
            return state  # older than the known state: a deletion is never undone
        if wanted.removed and state.phase is not PodWorkerPhase.ADMITTING:
            return replace(state, wanted=replace(wanted, again=self.data))
        resizing, pod, data = as_allocated(state.resizing, self.pod, self.data, self.kept)
        wanted = replace(wanted, pod=pod, data=data, source=self.data, removed=False)
        return replace(state, wanted=wanted, resizing=resizing).with_attempts(state.attempts, not_before=0.0)


def as_allocated(
    resizing: ResizeProgress, pod: Pod, data: bytes, kept: allocation.StoredAllocation | None
) -> tuple[ResizeProgress, Pod, bytes]:
    """The pod with its allocated resources; the resources of its spec become the desired ones."""
    requested = allocation.of(pod)
    if resizing.allocated is None and requested and kept is not None:
        resizing = replace(resizing, allocated=kept.allocated, actuated=kept.actuated)
        resizing = replace(resizing, in_progress=kept.under_way, unconfirmed=kept.under_way)
    if resizing.allocated is None or allocation.same(resizing.allocated, requested):
        return without_request(resizing), pod, data
    given = allocation.with_resources(pod, resizing.allocated)
    return replace(resizing, desired=pod, not_before=0.0), given, encode(given)


class PodRemoved(PodEvent, frozen=True):
    """No source has the pod."""

    def apply(self, state: PodState) -> PodState:
        if state.wanted.removed and not state.wanted.again:
            return state
        return replace(state, wanted=replace(state.wanted, removed=True, again=b""))


class KillOrdered(PodEvent, frozen=True):
    """An order to end the pod, such as an eviction. The first order counts; later ones can only shorten the grace
    period."""

    order: KillPod

    def apply(self, state: PodState) -> PodState:
        known = state.wanted.kill
        if known is None:
            return replace(state, wanted=replace(state.wanted, kill=self.order))
        if self.order.grace_seconds >= known.grace_seconds:
            return state  # orders are repeated
        return replace(state, wanted=replace(state.wanted, kill=replace(known, grace_seconds=self.order.grace_seconds)))


class RuntimeChanged(PodEvent, frozen=True):
    """The PLEG reports a change."""

    runtime: PodRuntime

    def apply(self, state: PodState) -> PodState:
        known = state.runtime
        if known is not None and self.runtime.at <= known.at:
            return state  # older than the pod worker's own look
        seen = with_addresses(self.runtime, known)
        state = with_lost(state, self.runtime)
        return without_waiting(replace(state, view=replace(state.view, runtime=seen)), self.runtime)


class ObjectsMissing(PodEvent, frozen=True):
    """A report of the PLEG lacks known sandboxes or containers: the pod worker asks for these before it decides."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, view=replace(state.view, stale=True))


def with_lost(state: PodState, runtime: PodRuntime) -> PodState:
    """Note the containers that the runtime has lost since the known state, or since the last report of a pod of which
    nothing is known yet, and forget those that it has again."""
    again = [name for name in state.lost if runtime.newest(name) is not None]
    pod = state.wanted.pod if state.runtime is None else None
    if pod is not None:
        gone = lost_meanwhile(pod, runtime)
    else:
        gone = lost(state.wanted.pod, state.runtime, runtime, state.restarting)
    for name, one in gone.items():
        state = state.with_attempts([name], lost=one)
    return state.with_attempts(again, lost=None)


def without_waiting(state: PodState, runtime: PodRuntime) -> PodState:
    """Clear the waiting state of running containers, because their start may never have been answered."""
    running = [name for name in state.attempts if is_running(runtime.newest(name))]
    shown = state.waiting
    over = [name for name in running if name in shown and shown[name].reason != RESTARTING_ALL]
    started = [name for name in running if state.attempts[name].under_way_since]
    if not over and not started:
        return state
    return state.with_attempts(over, waiting=None).with_attempts(started, under_way_since=0.0)


class ProbeDecided(PodEvent, frozen=True):
    """A liveness or startup probe has a result."""

    container_id: str
    kind: Literal["liveness", "startup"]
    success: bool

    def apply(self, state: PodState) -> PodState:
        known = state.instances.get(self.container_id, ContainerInstance())
        after = known
        if not self.success:
            after = replace(after, unhealthy=self.kind)
        else:
            if after.unhealthy == self.kind:
                after = replace(after, unhealthy="")
            if self.kind == "startup":
                after = replace(after, startup_passed=True)
        if after == known:
            return state
        changes = {"unhealthy": after.unhealthy, "startup_passed": after.startup_passed}
        return state.with_instances([self.container_id], **changes)
