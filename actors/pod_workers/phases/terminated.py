"""The terminated phase: no container runs; volumes are unmounted, then the cgroup is removed."""

from __future__ import annotations

import msgspec

from actors.pod_workers.pod.state import Part, PodState

from .effects import Publish, Release, StopCounting, Unmount
from .step import Facts, Step


def next_step(state: PodState, facts: Facts) -> Step:
    if Part.UNMOUNT not in state.done:
        effects = (StopCounting(),) if state.held.unmounted else (StopCounting(), Unmount())
        # as in the kubelet, a pod's resources are free when its last container ends, however long its volumes take
        uncounted = msgspec.structs.replace(state.held, counted=False)
        return Step(msgspec.structs.replace(state.did(Part.UNMOUNT), held=uncounted), effects)
    if not state.held.unmounted or Part.RELEASE in state.done:
        return Step(state)
    return Step(state.did(Part.RELEASE), (Publish(), Release()))
