"""The terminating phase: containers are stopped, then sandboxes, until the runtime reports none running; then resource
claims are unprepared."""

from __future__ import annotations

import msgspec

from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.results import TryFailed
from actors.pod_workers.pod.runtime import remains
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import RoundPart

from .effects import Count, FreeResources, ReadRuntime, StopPod, Unprepare
from .step import Step, StepInput

STILL_RUNS = "the runtime still has running containers or a sandbox of it"


def next_step(state: PodState, facts: StepInput) -> Step:
    if RoundPart.STOP not in state.done:
        stop = (StopPod(remove_created=True, ends_pod=True), ReadRuntime())
        if state.wanted.removed:
            uncounted = msgspec.structs.replace(state.acquired, counted=False)
            state = msgspec.structs.replace(state, acquired=uncounted)
            return Step(state.did(RoundPart.STOP), (FreeResources(), ReadRuntime(), *stop))
        return Step(state.did(RoundPart.STOP), (ReadRuntime(), Count(), *stop))
    if not remains(state.runtime, state.stopped):
        if state.may_have_claims and not state.acquired.unprepared:
            # the last status waits for this: until then the claims must not go to a pod on another node
            return Step(state.did(RoundPart.UNPREPARE), () if RoundPart.UNPREPARE in state.done else (Unprepare(),))
        return Step(state.after(PodWorkerEvent.STOPPED))
    return Step(TryFailed(STILL_RUNS, facts.now).apply(state))
