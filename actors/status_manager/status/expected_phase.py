"""The phase of a pod over time: the one that is certain already, and the one that is reported. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.kube.pod import ContainerStatus, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES, is_sidecar, is_static

from ..containers.lost_containers import never_started
from .phase import pod_phase
from .pod_status_input import DEADLINE_EXCEEDED, ENDED, SHUTDOWN, PodStatusInput

_BY_ORDER: Final = ("terminating", "terminated")


def expected_phase(
    observation: PodStatusInput, by_name: dict[str, ContainerStatus], old: PodStatus, initialized: bool
) -> str:
    """The phase for the conditions. It is terminal as soon as it is certain that the pod will end so;
    never for a pod that was deleted before all of its containers had started.
    """
    seen = observation.seen
    if seen.worker_phase == "rejected" or (seen.worker_phase in _BY_ORDER and seen.reason == DEADLINE_EXCEEDED):
        phase = "Failed"
    else:
        spec = observation.pod.spec
        in_start_order = [*(each for each in spec.initContainers if not is_sidecar(each)), *spec.containers]
        waits = any(never_started(by_name.get(each.name)) for each in in_start_order)
        over = seen.worker_phase in ENDED
        phase = "Pending" if waits else pod_phase(observation.pod, by_name, ended=over, initialized=initialized)
        # as in the kubelet, a preempted or evicted pod whose containers all exit with 0 has succeeded
        if seen.worker_phase == "terminated" and seen.reason and (phase != "Succeeded" or seen.reason == SHUTDOWN):
            phase = "Failed"
        # a pod whose sandbox is lost before its containers started, and that is not restarted, has failed
        deleted = observation.pod.metadata.deletionTimestamp is not None
        if over and phase not in TERMINAL_PHASES and not deleted and not is_static(observation.pod):
            phase = "Failed"
    return old.phase if phase in TERMINAL_PHASES and old.phase in TERMINAL_PHASES else phase


def reported_phase(observation: PodStatusInput, expected: str, old: PodStatus) -> str:
    """A terminal phase is final, and is not reported while a container may still run."""
    if old.phase in TERMINAL_PHASES:
        return old.phase
    ended = observation.seen.worker_phase in ENDED
    if expected in TERMINAL_PHASES:
        return expected if ended else old.phase or "Running"
    if ended:
        # a static pod whose file is gone keeps its last phase
        return (old.phase or expected) if is_static(observation.pod) else "Failed"
    return expected
