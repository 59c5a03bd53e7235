"""The rejected phase: the pod stays until no source has it. Containers that still run are stopped."""

from __future__ import annotations

from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.runtime import remains
from actors.pod_workers.pod.state import PodState

from .step import Step, StepInput


def next_step(state: PodState, facts: StepInput) -> Step:
    if state.wanted.unwanted or remains(state.runtime, state.stopped):
        return Step(state.after(PodWorkerEvent.TERMINATE))
    return Step(state)
