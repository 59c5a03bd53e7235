"""Whether a pod is for this operating system. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.names import OS_LABEL

OS: Final = "linux"


def other_os(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodOSSelectorNodeLabelDoesNotMatch or PodOSNotSupported: by the pod's label, then by its field."""
    pod = candidate.pod
    if pod.metadata.labels.get(OS_LABEL, OS) != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Refusal("PodOSSelectorNodeLabelDoesNotMatch", text)
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None


CHECK: Final = AdmissionCheck(30, other_os)
