"""Events of the start of sandboxes and containers, and of their postStart hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.shared.kube.restart_policy import POST_START_ERROR, RESTARTING_ALL
from actors.status_manager.messages import Waiting

from .event import PodEvent
from .results import RETRIES, TryFailed, waiting_for_all, without_creating
from .state import SANDBOX, PodState, replace
from .state_values import Attempt

MOST_PULLS: Final = 20
REPORT_SECONDS: Final = 5.0
"""How long the reason of a failed pull is shown before the reason becomes ImagePullBackOff."""
LEAST_RETRY_SECONDS: Final = 0.1
"""The shortest pause in seconds. By another actor's clock a pause may be almost over; this prevents a busy
loop."""
UNDER_WAY_PAUSE: Final = 1.0
"""Seconds between checks whether an earlier start has ended."""
BACKING_OFF: Final = "ImagePullBackOff"
POST_START: Final = "postStart"
"""The reason of a container that is unhealthy because its hook failed."""


class ImagePulled(PodEvent, frozen=True):
    started_at: float
    ended: float

    def apply(self, state: PodState) -> PodState:
        return replace(state, pulls=(*state.pulls, (self.started_at, self.ended))[-MOST_PULLS:])


class SandboxStarted(PodEvent, frozen=True):
    sandbox_id: str

    def apply(self, state: PodState) -> PodState:
        state = without_creating(replace(state, view=replace(state.view, sandboxes=(self.sandbox_id,))))
        return state.with_attempts([SANDBOX], under_way_since=0.0)


class SandboxFailed(PodEvent, frozen=True):
    """The sandbox was not created, or the result is unknown."""

    message: str
    now: float
    unreachable: bool = False
    """The runtime did not answer: once it does, the next try need not wait any longer."""

    def apply(self, state: PodState) -> PodState:
        state = TryFailed(self.message, self.now, stale=True).apply(waiting_for_all(state, self.message))
        pause = _least_pause(state.retry.failures, unreachable=self.unreachable)
        return state.with_attempts([SANDBOX], not_before=self.now + pause, under_way_since=0.0)


class StartUnderWay(PodEvent, frozen=True):
    """An earlier start has not ended. That is no failure, and the waiting state that users see stays."""

    name: str
    """Name of the container, or SANDBOX."""
    container_id: str
    """The created container, which may run once that order has ended; '' before it is created."""
    now: float

    def apply(self, state: PodState) -> PodState:
        state = replace(state, view=replace(state.view, stale=True)).due_by(self.now + UNDER_WAY_PAUSE)
        if self.container_id:
            state = state.with_instances([self.container_id], post_start_due=True)
        since = state.attempts.get(self.name, Attempt()).under_way_since or self.now
        return state.with_attempts([self.name], not_before=self.now + UNDER_WAY_PAUSE, under_way_since=since)


class ContainerStarted(PodEvent, frozen=True):
    name: str
    container_id: str
    sandbox_id: str

    def apply(self, state: PodState) -> PodState:
        containers = {**state.view.containers, self.container_id: self.sandbox_id}
        state = replace(state, view=replace(state.view, containers=containers))
        state = state.with_instances([self.container_id], start_answered=True)
        return state.with_attempts([self.name], waiting=None, consecutive_restarts=0, lost=None, under_way_since=0.0)


class ContainerResumed(PodEvent, frozen=True):
    """A container that an earlier try created was started."""

    name: str
    container_id: str

    def apply(self, state: PodState) -> PodState:
        state = state.with_instances([self.container_id], start_answered=True)
        return state.with_attempts([self.name], waiting=None, under_way_since=0.0)


class ContainerFailed(PodEvent, frozen=True):
    """The container was not started, or the result is unknown."""

    name: str
    reason: str
    message: str
    retry_seconds: float
    """0.0: the usual backoff."""
    container_id: str
    """The created container, which may run if its start was not answered."""
    now: float
    unreachable: bool = False
    """The runtime did not answer, or ended meanwhile. Once it answers, the next try need not wait any longer."""

    def apply(self, state: PodState) -> PodState:
        # a leftover of it in the runtime matters for the next try
        state = replace(state, view=replace(state.view, stale=True))
        if self.container_id:
            changes = {"post_start_due": True, "start_interrupted": self.unreachable}
            state = state.with_instances([self.container_id], **changes)
        if self.retry_seconds:
            # checked earlier once, so that users see the waiting and its reason
            is_reported = self.reason == BACKING_OFF
            pause = self.retry_seconds if is_reported else min(self.retry_seconds, REPORT_SECONDS)
            not_before = self.now + max(LEAST_RETRY_SECONDS, pause)
            state = state.due_by(not_before)
        else:
            state = TryFailed(self.message, self.now).apply(state)
            not_before = self.now + _least_pause(state.retry.failures, unreachable=self.unreachable)
        waiting = Waiting(self.reason, self.message)
        return state.with_attempts([self.name], waiting=waiting, not_before=not_before, under_way_since=0.0)


def _least_pause(failures: int, *, unreachable: bool) -> float:
    """The seconds before the next try that no event shortens."""
    return RETRIES.pause(1 if unreachable else failures)


class AllRestarting(PodEvent, frozen=True):
    """All containers except ephemeral ones are stopped and removed, and start again."""

    names: list[str]
    message: str
    consecutive_restarts: Mapping[str, int]
    """The count for the next instance of each container that caused it."""

    def apply(self, state: PodState) -> PodState:
        state = replace(state, view=replace(state.view, stale=True))
        state = state.with_attempts(self.names, waiting=Waiting(RESTARTING_ALL, self.message), consecutive_restarts=0)
        for name, count in self.consecutive_restarts.items():
            state = state.with_attempts([name], consecutive_restarts=count)
        return state


class PostStartStarted(PodEvent, frozen=True):
    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], post_start_due=True)


class PostStartEnded(PodEvent, frozen=True):
    """The hook has ended or was stopped."""

    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], post_start_due=False)


class PostStartFailed(PodEvent, frozen=True):
    """The hook failed: the container is stopped as if it had failed itself."""

    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], post_start_due=False, unhealthy=POST_START)


class PostStartReported(PodEvent, frozen=True):
    """Users see the reason why the container does not run."""

    name: str
    message: str

    def apply(self, state: PodState) -> PodState:
        return state.with_attempts([self.name], waiting=Waiting(POST_START_ERROR, self.message))
