"""Events that result from the pod worker's own effects: looks, admission, retries, termination, clean-up.

The events of starts are in `starts`, the events of a resize in `resizes`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from actors.shared.cri.model import PodRuntime
from actors.shared.hardware.allocation import ContainerAllocation
from actors.status_manager.messages import Waiting
from supervision.backoff import RetrySchedule

from .event import PodEvent
from .orders import with_lost, without_waiting
from .phase_transitions import PodWorkerEvent
from .runtime import with_addresses
from .state import PodState, replace
from .state_values import PodView, Retry, Round
from .unlisted_containers import UnlistedContainers

RETRIES: Final = RetrySchedule(first=1.0, limit=10.0)
CREATING: Final = "ContainerCreating"


class RoundStarted(PodEvent, frozen=True):
    """Start a new round: an event has arrived, or something is due."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, due=None, round=Round())


class ClockWasSet(PodEvent, frozen=True):
    """The wall clock was set forward by these seconds, back if negative: the pod worker's own waits last as long as
    they would have. Times of the runtime and the API stay as they are."""

    seconds: float

    def apply(self, state: PodState) -> PodState:
        attempts = {
            name: replace(
                one,
                not_before=self._moved(one.not_before),
                under_way_since=self._moved(one.under_way_since),
                crash_loop_announced_at=self._moved(one.crash_loop_announced_at),
            )
            for name, one in state.attempts.items()
        }
        resizing = replace(
            state.resizing,
            not_before=self._moved(state.resizing.not_before),
            retry_at=self._moved(state.resizing.retry_at),
        )
        report_due = state.mount_report_due
        return replace(
            state,
            attempts=attempts,
            resizing=resizing,
            mount_report_due=None if report_due is None else self._moved(report_due),
        )

    def _moved(self, moment: float) -> float:
        """0.0 is no time."""
        return moment + self.seconds if moment else moment


class TryFailed(PodEvent, frozen=True):
    """An effect failed. It is retried after a growing pause."""

    why: str
    now: float
    stale: bool = False
    """The runtime's state may have changed despite the failure."""

    def apply(self, state: PodState) -> PodState:
        retry = Retry(state.retry.failures + 1, self.why)
        view = replace(state.view, stale=True) if self.stale else state.view
        return replace(state, retry=retry, view=view).due_by(self.now + RETRIES.pause(retry.failures))


class RoundSucceeded(PodEvent, frozen=True):
    """The round has succeeded: no effect has failed since the pod worker woke."""

    def apply(self, state: PodState) -> PodState:
        if any(attempt.not_before for attempt in state.attempts.values()):
            return state  # a failed step waits for its next try, and its backoff grows, for any event
        return replace(state, retry=Retry())


class Interrupted(PodEvent, frozen=True):
    """An effect was interrupted because the pod must end, or end sooner."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, view=replace(state.view, stale=True))


class RuntimeObserved(PodEvent, frozen=True):
    """The runtime was asked after all of this pod worker's changes."""

    runtime: PodRuntime

    def apply(self, state: PodState) -> PodState:
        known = state.runtime
        if known is not None and self.runtime.at < known.at:
            # the PLEG's relist started later, finished sooner, and reports a change only once
            return replace(state, view=replace(state.view, stale=False, changed=False, sandboxes=(), containers={}))
        view = PodView(runtime=with_addresses(self.runtime, known), stale=False, unlisted=state.unlisted)
        view = replace(view, slow_call=state.view.slow_call)
        from_here = replace(with_lost(state, self.runtime), view=view)
        there = {instance.id for instance in self.runtime.containers} | state.unlisted.running
        return without_waiting(from_here, self.runtime).with_instances_of(there)


class CallSlow(PodEvent, frozen=True):
    """A call to the runtime takes long."""

    method: str
    """'': no call does any more."""
    since: float
    """Seconds since 1970."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, view=replace(state.view, slow_call=(self.method, self.since)))


class UnlistedFound(PodEvent, frozen=True):
    """Containers of the pod that run although the runtime does not list them; reported before the runtime's list."""

    unlisted: UnlistedContainers

    def apply(self, state: PodState) -> PodState:
        if self.unlisted == state.unlisted:
            return state
        return replace(state, view=replace(state.view, unlisted=self.unlisted))


class RuntimeModified(PodEvent, frozen=True):
    """The pod worker has started, stopped or removed something, and looks before it decides again."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, view=replace(state.view, changed=True))


# -- admission -------------------------------------------------------------------------------------------------------
class Postponed(PodEvent, frozen=True):
    """The admission is retried at that time."""

    until: float

    def apply(self, state: PodState) -> PodState:
        return state.due_by(self.until)


class Refused(PodEvent, frozen=True):
    reason: str
    message: str

    def apply(self, state: PodState) -> PodState:
        return replace(state, reason=(self.reason, f"Pod was rejected: {self.message}")).after(PodWorkerEvent.REFUSED)


class Counted(PodEvent, frozen=True):
    """The container manager has admitted the pod."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, acquired=replace(state.acquired, counted=True))


class VolumesPending(PodEvent, frozen=True):
    """Its volumes are not mounted yet."""

    message: str
    report_due: float
    """When the next event about it is due."""

    def apply(self, state: PodState) -> PodState:
        return waiting_for_all(replace(state, mount_report_due=self.report_due), self.message)


class Admitted(PodEvent, frozen=True):
    """The pod may run: its cgroup and volumes exist."""

    cgroup_parent: str
    volumes: dict[str, str]
    groups: list[int] = []
    containers: dict[str, ContainerAllocation] = {}
    prepare: bool = False

    def apply(self, state: PodState) -> PodState:
        acquired = replace(
            state.acquired,
            cgroup_parent=self.cgroup_parent,
            volumes=self.volumes,
            groups=self.groups,
            containers=self.containers,
            prepare=self.prepare,
        )
        return without_creating(replace(state, acquired=acquired)).after(PodWorkerEvent.ADMITTED)


class VolumesMountedAgain(PodEvent, frozen=True):
    """The volumes of a running pod are mounted again; there may be more of them, for an added container."""

    volumes: dict[str, str]

    def apply(self, state: PodState) -> PodState:
        return replace(state, acquired=replace(state.acquired, volumes={**state.acquired.volumes, **self.volumes}))


def waiting_for_all(state: PodState, message: str) -> PodState:
    """Set the same waiting reason for all containers."""
    names = [container.name for container in state.wanted.pod.spec.containers] if state.wanted.pod is not None else []
    state = state.with_attempts(state.attempts, waiting=None)
    return state.with_attempts(names, waiting=Waiting(CREATING, message))


def without_creating(state: PodState) -> PodState:
    """Remove the waiting reason ContainerCreating."""
    names = [name for name, why in state.waiting.items() if why.reason == CREATING]
    return state.with_attempts(names, waiting=None)


# -- end of the pod --------------------------------------------------------------------------------------------------
class TerminationAnnounced(PodEvent, frozen=True):
    """The event about the container's stop was emitted."""

    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], termination_announced=True)


class ContainersStopped(PodEvent, frozen=True):
    """The runtime has stopped these containers, in whatever state it lists them."""

    ids: Collection[str]

    def apply(self, state: PodState) -> PodState:
        return state.with_instances(self.ids, stopped=True)


class PreStopStarted(PodEvent, frozen=True):
    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], pre_stop_started=True)


class PreStopUnreached(PodEvent, frozen=True):
    """The runtime was unavailable: the hook runs at the next try."""

    container_id: str

    def apply(self, state: PodState) -> PodState:
        return state.with_instances([self.container_id], pre_stop_started=False)


class Unprepared(PodEvent, frozen=True):
    """No driver has anything prepared for it."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, acquired=replace(state.acquired, unprepared=True))


class Unmounted(PodEvent, frozen=True):
    """Its volumes are unmounted."""

    def apply(self, state: PodState) -> PodState:
        return replace(state, acquired=replace(state.acquired, unmounted=True))


class Released(PodEvent, frozen=True):
    """Its cgroup is removed."""

    def apply(self, state: PodState) -> PodState:
        return state.after(PodWorkerEvent.CLEANED)


class Forgotten(PodEvent, frozen=True):
    """Its cleanup is complete."""

    def apply(self, state: PodState) -> PodState:
        return state.after(PodWorkerEvent.FORGOTTEN)
