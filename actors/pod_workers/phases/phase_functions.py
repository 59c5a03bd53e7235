"""The phases of a pod's life: the function of each, and its name in traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.state import PodState

from . import admitting, ended, rejected, running, terminated, terminating
from .step import Step, StepInput

DECIDES: Final[dict[PodWorkerPhase, Callable[[PodState, StepInput], Step]]] = {
    PodWorkerPhase.ADMITTING: admitting.next_step,
    PodWorkerPhase.RUNNING: running.next_step,
    PodWorkerPhase.TERMINATING: terminating.next_step,
    PodWorkerPhase.TERMINATED: terminated.next_step,
    PodWorkerPhase.ENDED: ended.next_step,
    PodWorkerPhase.REJECTED: rejected.next_step,
}
SPANS: Final = {
    PodWorkerPhase.RUNNING: "syncPod",
    PodWorkerPhase.TERMINATING: "syncTerminatingPod",
    PodWorkerPhase.TERMINATED: "syncTerminatedPod",
}
"""The kubelet's names."""


def next_step(state: PodState, facts: StepInput) -> Step:
    """The next step of a pod that is not finished. Pure."""
    return DECIDES[state.phase](state, facts)
