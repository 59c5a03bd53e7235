"""Whether the resource claims of a pod would be prepared. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pods import is_static
from actors.shared.kube.resource_claims import has_claims, has_extended_claim


def unprepared_claims(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodFeatureUnsupported, for a pod whose resource claims would not be prepared: it would start without its devices
    (KEP-4381)."""
    pod = candidate.pod
    if not has_claims(pod):
        return None
    if is_static(pod):
        return _unsupported_refusal("a static pod cannot have resource claims")
    if not node.claims:
        return _unsupported_refusal("dynamic resource allocation is not supported on this node")
    if not node.extended_claims and has_extended_claim(pod):
        return _unsupported_refusal("extended resources by dynamic resource allocation are not supported on this node")
    return None


def _unsupported_refusal(why: str) -> Refusal:
    return Refusal("PodFeatureUnsupported", f"spec.resourceClaims: {why}")


CHECK: Final = AdmissionCheck(120, unprepared_claims)
