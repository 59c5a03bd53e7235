"""The admitting phase: decides whether a new pod runs on this node. A pod that has completed before ends."""

from __future__ import annotations

from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import RoundPart

from .effects import Admit, AskForKillOrder, ReadRuntime
from .pod_actions import actions_of
from .step import Step, StepInput
from .termination_reasons import active_deadline, termination


def next_step(state: PodState, facts: StepInput) -> Step:
    ending = termination(state, facts.now)
    if ending is not None:
        return ending
    state = state.due_by(active_deadline(state))
    if state.view.stale or state.runtime is None:
        return Step(state, (ReadRuntime(),))
    known = bool(state.runtime.sandboxes) and not state.unlisted.running
    if known and actions_of(state, facts.now, facts.maximum_backoff).done:
        if facts.ends_pods and RoundPart.KILL_ORDER not in state.done:
            return Step(state.did(RoundPart.KILL_ORDER), (AskForKillOrder(),))
        return Step(state.after(PodWorkerEvent.TERMINATE))
    if RoundPart.ADMISSION in state.done:
        return Step(state)
    return Step(state.did(RoundPart.ADMISSION), (Admit(),))
