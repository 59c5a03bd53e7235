"""The phases of a pod's life: the function of each, and its name in traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.table import Phase

from . import admitting, ended, rejected, running, terminated, terminating
from .step import Facts, Step

DECIDES: Final[dict[Phase, Callable[[PodState, Facts], Step]]] = {
    Phase.ADMITTING: admitting.next_step,
    Phase.RUNNING: running.next_step,
    Phase.TERMINATING: terminating.next_step,
    Phase.TERMINATED: terminated.next_step,
    Phase.ENDED: ended.next_step,
    Phase.REJECTED: rejected.next_step,
}
SPANS: Final = {
    Phase.RUNNING: "syncPod",
    Phase.TERMINATING: "syncTerminatingPod",
    Phase.TERMINATED: "syncTerminatedPod",
}
"""The kubelet's names."""


def next_step(state: PodState, facts: Facts) -> Step:
    """The next step of a pod that is not finished. Pure."""
    return DECIDES[state.phase](state, facts)
