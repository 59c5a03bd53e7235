"""Whether a pod may have pod-level resources. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal


def pod_level_resources(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodLevelResourcesNotSupported, if the gate is off."""
    given = candidate.pod.spec.resources
    if node.pod_level or given is None or not (given.requests or given.limits):
        return None
    return Refusal("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")


CHECK: Final = AdmissionCheck(110, pod_level_resources)
