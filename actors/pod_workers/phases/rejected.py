"""A pod that this node does not run. It stays until no source has it; what it still runs is stopped."""

from __future__ import annotations

from actors.pod_workers.pod.runtime import remains
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.table import Event

from .step import Facts, Step


def next_step(state: PodState, facts: Facts) -> Step:
    if state.wanted.unwanted or remains(state.runtime):
        return Step(state.after(Event.LEAVE))
    return Step(state)
