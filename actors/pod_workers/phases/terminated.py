"""The terminated phase: no container runs; volumes are unmounted, then the cgroup is removed. Volumes that are kept are
unmounted in the ended phase."""

from __future__ import annotations

import msgspec

from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import RoundPart

from .effects import Publish, Release, ReleaseResources, Unmount
from .step import Step, StepInput


def next_step(state: PodState, facts: StepInput) -> Step:
    done_with_volumes = state.acquired.unmounted or (facts.keeps_volumes and not state.wanted.unwanted)
    if RoundPart.UNMOUNT not in state.done:
        effects = (ReleaseResources(),) if done_with_volumes else (ReleaseResources(), Unmount())
        # as in the kubelet, a pod's resources are free when its last container ends, however long its volumes take
        uncounted = msgspec.structs.replace(state.acquired, counted=False)
        return Step(msgspec.structs.replace(state.did(RoundPart.UNMOUNT), acquired=uncounted), effects)
    if not done_with_volumes or RoundPart.RELEASE in state.done:
        return Step(state)
    return Step(state.did(RoundPart.RELEASE), (Publish(), Release()))
