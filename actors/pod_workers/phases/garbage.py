"""The last part of a round: garbage collection of dead containers and sandboxes."""

from __future__ import annotations

from actors.pod_workers.garbage.container_gc import dead_containers, dead_sandboxes
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import RoundPart

from .effects import CollectGarbage
from .step import Step, StepInput


def collect(state: PodState, facts: StepInput) -> Step:
    runtime = state.runtime
    if RoundPart.GARBAGE in state.done or runtime is None or state.wanted.pod is None:
        return Step(state)
    state = state.did(RoundPart.GARBAGE)
    containers = dead_containers(runtime, facts.garbage, facts.now)
    sandboxes = dead_sandboxes(runtime, keep_newest=True)
    return Step(state, (CollectGarbage(containers, sandboxes),) if containers or sandboxes else ())
