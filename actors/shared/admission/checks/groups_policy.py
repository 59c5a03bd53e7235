"""Whether the runtime supports a pod's supplementalGroupsPolicy. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pod import Pod


def unsupported_groups_policy(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """SupplementalGroupsPolicyNotSupported."""
    if node.strict_groups or not wants_strict_groups(candidate.pod):
        return None
    text = "SupplementalGroupsPolicy=Strict is not supported in this node"
    return Refusal("SupplementalGroupsPolicyNotSupported", text)


def wants_strict_groups(pod: Pod) -> bool:
    return pod.spec.securityContext.supplementalGroupsPolicy == "Strict"


CHECK: Final = AdmissionCheck(40, unsupported_groups_policy, of_admitted=True)
