"""The running phase, in rounds: look, resize, compute the actions, perform them, and repeat until nothing is left to
do.

Due hooks and garbage collection follow. Then the pod waits for news.
"""

from __future__ import annotations

import msgspec

from actors.pod_workers.containers.names import label
from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.resize_plan import outdated
from actors.pod_workers.pod.results import waiting_for_all
from actors.pod_workers.pod.state import SANDBOX, PodState
from actors.pod_workers.pod.state_values import Attempt, RoundPart
from actors.shared.config.fields.duration import Duration
from actors.shared.cri.model import CriContainerState, PodRuntime, is_running
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import Waiting

from .actions import ContainerBackoff, PodActions, earliest
from .effects import (
    ActuateResize,
    AllocateResize,
    Announce,
    AwaitListed,
    Effect,
    Publish,
    ReadRuntime,
    ReadRuntimeAgain,
    RestartAll,
    RunPostStart,
    StartContainers,
    StopContainers,
    StopPod,
)
from .garbage import collect
from .pod_actions import actions_of, lost_with_sandbox
from .step import Step, StepInput
from .termination_reasons import active_deadline, termination

CRASH_LOOP = "CrashLoopBackOff"
CRASH_LOOP_EVENT_SECONDS = 10.0
"""As often as a kubelet whose pods are quiet: it wakes for a container in backoff each 10 s."""
NETWORK_SECONDS = 1.0
"""The pause before an unready network is checked again."""


def next_step(state: PodState, facts: StepInput) -> Step:
    if state.view.changed:
        return Step(state.undone(), (ReadRuntimeAgain(), Publish()))
    ending = termination(state, facts.now)
    if ending is not None:
        return ending
    state, runtime, pod = state.due_by(active_deadline(state)), state.runtime, state.wanted.pod
    if runtime is None or pod is None or (state.view.stale and not state.done):
        return Step(state, (ReadRuntime(),))
    has_unlisted = bool(state.unlisted.running)  # an unlisted container cannot be resized either
    if state.resizing.desired is not None and RoundPart.ALLOCATION not in state.done and not has_unlisted:
        state = state.did(RoundPart.ALLOCATION)
        if state.resizing.not_before <= facts.now:
            return Step(state, (AllocateResize(),))
    if state.resizing.deferred_at:
        state = state.due_by(state.resizing.not_before)
    if RoundPart.ACTUATION not in state.done and not has_unlisted:
        state = state.did(RoundPart.ACTUATION)
        if state.resizing.in_progress or outdated(state):
            if state.resizing.retry_at <= facts.now:
                return Step(state, (ActuateResize(),))
            state = state.due_by(state.resizing.retry_at)
    if RoundPart.ACTIONS not in state.done:
        return _act(state.did(RoundPart.ACTIONS), pod, runtime, facts)
    due = [
        cri_container
        for cri_container in runtime.containers
        if is_running(cri_container) and _hook_is_due(state, cri_container.id)
    ]
    return Step(state, (RunPostStart(due),)) if due else collect(state, facts)


def _hook_is_due(state: PodState, container_id: str) -> bool:
    instance = state.instances.get(container_id)
    return instance is not None and instance.post_start_due


def _act(state: PodState, pod: Pod, runtime: PodRuntime, facts: StepInput) -> Step:
    """Decide the actions for sandbox and containers."""
    if state.unlisted.running:
        return Step(state, (AwaitListed(),))
    actions = actions_of(state, facts.now, facts.maximum_backoff, cgroup_gone=facts.cgroup_gone)
    state, actions = without_backoff(state, actions, facts.now)
    state = _without_withdrawn_restarts(state, runtime, actions)
    looped = _looping(state)
    state, announcements = _crash_loops(state, pod, actions.backoff, facts.now)
    if actions.done:
        return Step(state.after(PodWorkerEvent.TERMINATE), announcements)
    effects: list[Effect] = [*announcements]
    if actions.create_sandbox and not facts.network_ready and not pod.spec.hostNetwork:
        state, waits = _without_network(state, facts)  # stop nothing for a sandbox that cannot be created
        effects += waits
        return Step(state, tuple(effects)) if effects else next_step(state, facts)
    if actions.kill_pod:
        if actions.create_sandbox and runtime.sandboxes:
            text = "Pod sandbox changed, it will be killed and re-created."
            effects.append(Announce("Normal", "SandboxChanged", text))
            state = state.with_instances(lost_with_sandbox(pod, runtime), restarting=True)
        effects.append(StopPod())
    if actions.restart_all:
        return Step(state, (*effects, RestartAll(actions.restart_all)))
    if actions.kill:
        state = state.with_instances([kill.container.id for kill in actions.kill if kill.restart], restarting=True)
        return Step(state, (*effects, StopContainers(actions.kill)))
    if actions.create_sandbox or actions.start or actions.resume:
        if _has_new_end(runtime, actions, looped):
            effects.append(Publish())  # who watches sees the end before what follows it
        effects.append(StartContainers(actions.create_sandbox, actions.attempt, actions.resume, actions.start))
    return Step(state, tuple(effects)) if effects else next_step(state, facts)


def without_backoff(state: PodState, actions: PodActions, now: float) -> tuple[PodState, PodActions]:
    """The actions without those that are in backoff."""
    over = [name for name, one in state.attempts.items() if one.not_before <= now]
    state = state.with_attempts(over, not_before=0.0)
    waiting = {name: one.not_before for name, one in state.attempts.items() if one.not_before}
    if not waiting:
        return state, actions
    state = state.due_by(min(waiting.values()))
    if actions.create_sandbox and SANDBOX in waiting:
        return state, PodActions()
    start = [one for one in actions.start if one.container.name not in waiting]
    resume = [one for one in actions.resume if one.name not in waiting]
    return state, msgspec.structs.replace(actions, start=start, resume=resume)


def _without_withdrawn_restarts(state: PodState, runtime: PodRuntime, actions: PodActions) -> PodState:
    """Withdraw the restart of containers that no longer need one, so that they are not restarted if they end by
    themselves."""
    stopped = {kill.container.id for kill in actions.kill} | {
        cri_container.id for _, cri_container, _ in outdated(state)
    }
    running = {cri_container.id for cri_container in runtime.containers if is_running(cri_container)}
    return state.with_instances(state.restarting & (running - stopped), restarting=False)


def _crash_loops(
    state: PodState, pod: Pod, backoffs: list[ContainerBackoff], now: float
) -> tuple[PodState, tuple[Announce, ...]]:
    """Emit an event for each container that waits in a crash loop, at the start of the wait and each
    CRASH_LOOP_EVENT_SECONDS after, however often the pod worker wakes. Forget those that no longer wait.
    """
    known = _looping(state)
    state = state.due_by(earliest(backoffs) or None)
    announcements = []
    for backoff in backoffs:
        pause = max(0, round(backoff.until - backoff.last.finished_ns / 1e9))
        text = f"back-off {Duration(pause)} restarting failed container={backoff.name} pod={label(pod)}"
        announced_at = state.attempts.get(backoff.name, Attempt()).crash_loop_announced_at
        if backoff.name not in known or not 0 <= now - announced_at < CRASH_LOOP_EVENT_SECONDS:
            event = f"Back-off restarting failed container {backoff.name} in pod {label(pod)}"
            announcements.append(Announce("Warning", "BackOff", event, backoff.name))
            announced_at = now
        waiting = Waiting(CRASH_LOOP, text)
        state = state.with_attempts([backoff.name], waiting=waiting, crash_loop_announced_at=announced_at)
    ended = known - {backoff.name for backoff in backoffs}
    return state.with_attempts(ended, waiting=None, crash_loop_announced_at=0.0), tuple(announcements)


def _looping(state: PodState) -> set[str]:
    """The containers that are shown as waiting in a crash loop."""
    return {name for name, why in state.waiting.items() if why.reason == CRASH_LOOP}


def _has_new_end(runtime: PodRuntime, actions: PodActions, looped: set[str]) -> bool:
    """Whether a container has ended, and none starts again after its backoff, which has shown the end."""
    starts_after_backoff = any(one.container.name in looped for one in actions.start)
    return not starts_after_backoff and any(each.state is CriContainerState.EXITED for each in runtime.containers)


def _without_network(state: PodState, facts: StepInput) -> tuple[PodState, tuple[Announce, ...]]:
    """A sandbox needs a network: check again soon. Without a message the reason is not known yet, and no event is
    emitted."""
    if not facts.network_message:
        return state.due_by(facts.now + NETWORK_SECONDS), ()
    text = f"network is not ready: container runtime network not ready: {facts.network_message}"
    announcements = () if state.round.network_announced else (Announce("Warning", "NetworkNotReady", text),)
    return waiting_for_all(state.announce_network(), text).due_by(facts.now + NETWORK_SECONDS), announcements
