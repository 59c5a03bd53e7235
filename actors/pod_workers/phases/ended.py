"""The ended phase: the pod has only dead containers and logs on the node, which stay as long as a source has the pod. A
container that appears late (from a call that was no longer awaited) is stopped as well. Volumes that were kept are
unmounted when the pod is deleted."""

from __future__ import annotations

from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.runtime import remains
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import RoundPart

from .effects import ReadRuntime, RemoveTraces, StopPod, Unmount
from .garbage import collect
from .step import Step, StepInput


def next_step(state: PodState, facts: StepInput) -> Step:
    if (state.wanted.unwanted or state.wanted.again) and not state.acquired.unmounted:
        return Step(state) if RoundPart.UNMOUNT in state.done else Step(state.did(RoundPart.UNMOUNT), (Unmount(),))
    if state.wanted.again:
        return Step(state.after(PodWorkerEvent.FORGOTTEN))
    if state.wanted.removed:
        if RoundPart.REMOVAL in state.done:
            return Step(state)
        return Step(state.did(RoundPart.REMOVAL), (RemoveTraces(),))
    if remains(state.runtime, state.stopped) and RoundPart.STOP not in state.done:
        return Step(state.did(RoundPart.STOP), (ReadRuntime(), StopPod(remove_created=True), ReadRuntime()))
    return collect(state, facts)
