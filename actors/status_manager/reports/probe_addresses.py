"""The address that the prober probes a pod at: status.podIP, of pods that have probes. Pure."""

from __future__ import annotations

from actors.shared.kube.pods import all_containers

from ..pods.tracked_pod import TrackedPod


def probe_address(tracked: TrackedPod | None) -> str:
    """Empty: the pod has no address yet, or no probes."""
    if tracked is None or tracked.status is None or not has_probes(tracked):
        return ""
    return tracked.status.podIP


def has_probes(tracked: TrackedPod) -> bool:
    return any(each.livenessProbe or each.readinessProbe or each.startupProbe for each in all_containers(tracked.pod))
