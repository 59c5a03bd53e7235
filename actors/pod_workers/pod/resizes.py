"""Events of an in-place resize (KEP-1287)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from actors.pod_workers.containers import allocation
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import POD_LEVEL

from .event import PodEvent
from .orders import as_allocated
from .resize_plan import actuated_pod_level
from .resize_progress import without_request
from .state import PodState, replace
from .state_values import Retry

RETRY_SECONDS: Final = 10.0
"""Seconds between tries of a failing resize. Its message may contain changing figures, so each try emits a new
event."""
DEFERRED_SECONDS: Final = 300.0
"""Seconds after which a deferred resize is requested again, unless the container manager asks for it earlier."""


class FirstAllocated(PodEvent, frozen=True):
    """The pod is admitted with these resources. If its spec asks for others by then, these are desired."""

    allocated: allocation.Allocated

    def apply(self, state: PodState) -> PodState:
        resizing, wanted = replace(state.resizing, allocated=self.allocated), state.wanted
        if wanted.pod is not None:
            resizing, pod, data = as_allocated(resizing, wanted.pod, wanted.data, None)
            wanted = replace(wanted, pod=pod, data=data)
        return replace(state, resizing=resizing, wanted=wanted)


class ResizePending(PodEvent, frozen=True):
    """The request does not fit now (Deferred) or at all (Infeasible): the container manager reports when to ask
    again."""

    reason: str
    message: str
    generation: int
    now: float

    def apply(self, state: PodState) -> PodState:
        deferred = self.reason == "Deferred"
        resizing = replace(
            state.resizing,
            pending=(self.reason, self.message),
            pending_generation=self.generation,
            deferred_at=(state.resizing.deferred_at or self.now) if deferred else 0.0,
            not_before=self.now + DEFERRED_SECONDS if deferred else math.inf,
        )
        return replace(state, resizing=resizing)


class ResizeRetried(PodEvent, frozen=True):
    """A pending request may fit now."""

    def apply(self, state: PodState) -> PodState:
        if state.resizing.desired is None:
            return state
        return replace(state, resizing=replace(state.resizing, not_before=0.0))


class ResizeAllocated(PodEvent, frozen=True):
    """The pod's new request is allocated."""

    pod: Pod
    data: bytes

    def apply(self, state: PodState) -> PodState:
        resizing = without_request(state.resizing)
        before = actuated_pod_level(state)
        resizing = replace(
            resizing,
            allocated=allocation.of(self.pod),
            actuated=resizing.actuated if before is None else {**resizing.actuated, POD_LEVEL: before},
            in_progress=True,
            generation=self.pod.metadata.generation,
            error="",
            retry_at=0.0,
        )
        return replace(state, resizing=resizing, wanted=replace(state.wanted, pod=self.pod, data=self.data))


class ResizeStarted(PodEvent, frozen=True):
    def apply(self, state: PodState) -> PodState:
        return replace(state, resizing=replace(state.resizing, in_progress=True))


class ContainersRestarting(PodEvent, frozen=True):
    """Containers are stopped for a restart."""

    ids: list[str]

    def apply(self, state: PodState) -> PodState:
        return state.with_instances(self.ids, restarting=True)


class ContainerResized(PodEvent, frozen=True):
    container_id: str
    resources: ResourceRequirements

    def apply(self, state: PodState) -> PodState:
        actuated = {**state.resizing.actuated, self.container_id: self.resources}
        return replace(state, resizing=replace(state.resizing, actuated=actuated))


class ResizeFailed(PodEvent, frozen=True):
    """The resize failed. It is retried; the pod runs unchanged meanwhile."""

    error: str
    now: float

    def apply(self, state: PodState) -> PodState:
        retry_at = self.now + RETRY_SECONDS
        resizing = replace(state.resizing, error=self.error, retry_at=retry_at)
        retry = Retry(state.retry.failures + 1, self.error)
        return replace(state, resizing=resizing, retry=retry).due_by(retry_at)


class ResizeCompleted(PodEvent, frozen=True):
    """All containers have their allocated resources."""

    ids: Collection[str]
    """The ids of the runtime's containers."""

    def apply(self, state: PodState) -> PodState:
        actuated = {key: one for key, one in state.resizing.actuated.items() if key in self.ids}
        resizing = replace(
            state.resizing,
            actuated=actuated,
            in_progress=False,
            generation=0,
            unconfirmed=False,
            error="",
            not_before=0.0,
            retry_at=0.0,
        )
        return replace(state, resizing=resizing)
