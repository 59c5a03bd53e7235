"""Runs one pod from admission to cleanup: asks the phase for the next step, performs it, and repeats.

A pod worker is a task of its shard, so one pod's slow call delays no other. It wakes on events, does everything
possible, and sleeps until something is due. Questions to other actors may be repeated by the next incarnation, which
finds the results of runtime calls in the runtime.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any, Final

import msgspec

from actors.pleg.messages import PLEG, StartHangs
from actors.pod_workers.containers import allocation
from actors.pod_workers.phases.phase_functions import SPANS, next_step
from actors.pod_workers.phases.step import Step, StepInput
from actors.pod_workers.pod.desired_state import DesiredState
from actors.pod_workers.pod.event import PodEvent
from actors.pod_workers.pod.orders import ObjectsMissing, PodWanted, ProbeDecided, RuntimeChanged
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.resize_plan import changes
from actors.pod_workers.pod.resizes import ResizeRetried
from actors.pod_workers.pod.results import CallSlow, Interrupted, RoundStarted, RoundSucceeded, TryFailed
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import ContainerInstance, PodView
from actors.shared.cri.calls_in_progress import CallsInProgress
from actors.shared.cri.errors import CriError, StillStarting
from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import lacks
from actors.shared.kube.pod import Pod
from supervision.actor import AskError, DisposableError
from supervision.errors import error_text
from supervision.quarantine import content_key

from . import instance_marks, resizing, spans, unreadable_status
from .execution import EffectInterrupted, Execution
from .performers import PERFORMS
from .pod_processes import CgroupWatch
from .services import ExecutorContext
from .unreadable_status import UnreadableStatus
from .volumes import mount_again

MOST_STEPS: Final = 100
"""The most decisions per wake-up; prevents endless loops."""
_OVER: Final = frozenset({PodWorkerPhase.ENDED, PodWorkerPhase.REJECTED, PodWorkerPhase.FINISHED})
"""Phases in which the state of the runtime matters only to the removal of what is left."""


class PodWorker:
    """The worker of one pod. `runtime`: the runtime's data for a pod without a source; None for a pod with a source."""

    def __init__(self, services: ExecutorContext, uid: str, runtime: PodRuntime | None = None) -> None:
        self._services = services
        self._synced = b""
        """The pod at the last synchronization."""
        self._keyed = (b"", content_key(uid, b""))
        """The data and its key, which is computed once."""
        self._seen_at: float | None = time.monotonic()
        """None after its first synchronization."""
        wanted = DesiredState(removed=runtime is not None)
        view = PodView(runtime=runtime)
        state = PodState(uid=uid, started_at=services.clock(), wanted=wanted, view=view, due=0.0)
        self._run = Execution(services, state)
        self._cgroup = CgroupWatch()
        self._unreadable = UnreadableStatus()
        self._calls = CallsInProgress(services.actor.after, services.clock, self._tell_slow_call)

    @property
    def state(self) -> PodState:
        return self._run.state

    @property
    def key(self) -> str:
        """The quarantine key of the current pod."""
        data = self.state.wanted.source or self.state.wanted.data
        if data is not self._keyed[0]:
            self._keyed = (data, content_key(self.state.uid, data))
        return self._keyed[1]

    # -- inputs ---------------------------------------------------------------------------------------------------
    def want(self, pod: Pod, data: bytes) -> None:
        """Set the desired pod."""
        before, kept = self.state, None
        if before.resizing.allocated is None and data != before.wanted.source and allocation.of(pod):
            kept = self._services.kept_resources.take(before.uid, pod)
        self.tell(PodWanted(pod, data, kept))
        if self.state is not before:
            mount_again(self._run, before=before.wanted.pod)
            self._count_changes(before.resizing.desired or before.wanted.pod, pod)
        if before.resizing.deferred_at and self.state.resizing.desired is None:
            self._count_allocated()

    def _count_changes(self, before: Pod | None, after: Pod) -> None:
        if before is not None and self.state.phase is PodWorkerPhase.RUNNING:
            for change in changes(before, after):
                self._services.starter.metrics.resize_requested(*change)

    def retry_resize(self, *, by_container_manager: bool) -> None:
        """Ask for a pending resize again. `by_container_manager`: the container manager keeps resources for it."""
        self.tell(ResizeRetried())
        if by_container_manager and self.state.resizing.desired is None:
            self._count_allocated()

    def recount(self) -> None:
        """A new container manager knows no pods: have it count this pod, which stays admitted, before it admits
        others."""
        if self.state.acquired.counted:
            resizing.count_allocated(self._run)
            resizing.keep_actuated(self._run)

    def _count_allocated(self) -> None:
        """Have the allocated resources counted: the pod asks for no others. This also ends a resize that has been
        carried out."""
        state = self.state
        if state.phase is PodWorkerPhase.RUNNING and state.acquired.counted and not state.resizing.in_progress:
            resizing.count_allocated(self._run)

    def see(self, runtime: PodRuntime) -> None:
        """Handle a report of the PLEG."""
        self._unreadable.read()
        known = self.state.runtime
        if known is not None and runtime.at <= known.at:
            return
        if lacks(runtime, self.state.view.known):
            self.tell(ObjectsMissing())  # a PLEG that has started since knows only what is listed
        else:
            self.tell(RuntimeChanged(self._run.complete(runtime)))

    def cannot_see(self, error: str) -> None:
        """The PLEG could not read the state of the pod."""
        if self.state.phase not in _OVER and self._unreadable.failed(self._services.clock()):
            self.announce("Warning", unreadable_status.REASON, unreadable_status.text_of(error))

    def tell(self, event: PodEvent) -> None:
        """Apply an event; decide again if it changes anything."""
        before = self.state
        self._run.report(event)
        if self.state is not before:
            self.wake()

    def apply_probe_result(self, decided: ProbeDecided) -> None:
        """Apply the result of a liveness or startup probe. A startup probe that has passed is never run again, not even
        after a restart of an actor."""
        known = self.state.instances.get(decided.container_id, ContainerInstance())
        if decided.kind == "startup" and decided.success and not known.startup_passed:
            pod_dir = self._services.agent.pod_dir(self.state.uid)
            for instance in self.state.runtime.containers if self.state.runtime is not None else ():
                if instance.id == decided.container_id:
                    instance_marks.startup_passed(self._services.actor, instance, pod_dir)
        self.tell(decided)

    def wake(self) -> None:
        """Decide again now."""
        self._run.wake()

    def announce(self, kind: str, reason: str, text: str) -> None:
        """Emit a Kubernetes event for the pod."""
        self._run.announce(kind, reason, text)

    def publish_again(self) -> None:
        """Send everything to the status manager and the prober: one of them has restarted."""
        self._run.publish(again=True)

    def mount_again(self) -> None:
        """The volume manager has restarted: have the volumes mounted again."""
        mount_again(self._run, forgotten=True)

    # -- the loop -------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Run until nothing of the pod is left."""
        run = self._run
        self._calls.watch()
        while self.state.phase is not PodWorkerPhase.FINISHED:
            await self._sleep()
            run.report(RoundStarted())
            failures = self.state.retry.failures
            operation, started_at = self._operation(), time.monotonic()
            if self._seen_at is not None:
                self._services.starter.metrics.first_sync(started_at - self._seen_at)
                self._seen_at = None
            try:
                await self._advance()
            except EffectInterrupted:
                run.report(Interrupted())  # the runtime has not been asked yet
                self.wake()
            except (CriError, AskError, DisposableError, OSError) as error:
                if isinstance(error, StillStarting):
                    self._services.actor.tell(PLEG, StartHangs(error.id))
                run.report(TryFailed(error_text(error), self._services.clock(), stale=True))
            self._services.starter.metrics.synced(operation, time.monotonic() - started_at)
            if failures and self.state.retry.failures == failures:
                run.report(RoundSucceeded())
            run.publish()

    def _tell_slow_call(self) -> None:
        """The runtime has not answered a call for long, or answers it at last."""
        method, since = self._calls.oldest
        self._run.report(CallSlow(method, since))
        if method:
            self._services.actor.log.info("pod %s: the runtime has not answered %s yet", self.state.label, method)
        self._run.publish()

    def _operation(self) -> str:
        """The kubelet's name for the next synchronization."""
        if self.state.phase is PodWorkerPhase.TERMINATING:
            return "kill"
        if self.state.phase not in (PodWorkerPhase.ADMITTING, PodWorkerPhase.RUNNING):
            return "terminated"
        return "sync" if self.state.wanted.data == self._synced else "update" if self._synced else "create"

    async def _sleep(self) -> None:
        """Sleep until there is news, something is due, or the sync period is over."""
        services, due = self._services, self.state.due
        pause = services.sync_seconds * (1 + 0.5 * services.rng.random())
        if due is not None:
            pause = min(pause, due - services.clock())
        if pause > 0:
            timer = services.actor.after(pause, self.wake)
            try:
                await self._run.until_woken()
            finally:
                timer.cancel()
        self._run.clear_wakeup()

    async def _advance(self) -> None:
        """Do everything possible, in this phase and the following ones."""
        while (phase := self.state.phase) is not PodWorkerPhase.FINISHED:
            step = next_step(self.state, self._facts())
            if step.state.phase is phase:
                with self._span(phase):
                    await self._wait_in_phase(phase, step)
            else:
                await self._take(step)
            if self.state.phase is phase:
                return

    async def _wait_in_phase(self, phase: PodWorkerPhase, step: Step) -> None:
        """Take steps as long as the pod stays in this phase and has something to do."""
        for _ in range(MOST_STEPS):
            await self._take(step)
            if self.state.phase is not phase or not step.effects:
                return
            step = next_step(self.state, self._facts())

    def _facts(self) -> StepInput:
        facts = self._services.facts()
        if self.state.phase is PodWorkerPhase.RUNNING and self._cgroup.is_gone(self.state):
            facts = msgspec.structs.replace(facts, cgroup_gone=True)
        return facts

    async def _take(self, step: Step) -> None:
        self._run.proceed(step.state)
        for effect in step.effects:
            await PERFORMS[type(effect)](self._run, effect)

    def _span(self, phase: PodWorkerPhase) -> Any:
        if phase not in SPANS:
            return nullcontext()
        update = ""
        if phase is PodWorkerPhase.RUNNING:
            update, self._synced = self._operation(), self.state.wanted.data
        return spans.of_phase(self._run, SPANS[phase], update)
