"""Whether the node declares the features that a pod needs. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.declared_features import needed_features


def undeclared_features(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodFeatureUnsupported, for a pod that needs features that this node does not declare (KEP-5328)."""
    if node.features is None:
        return None
    missing = [name for name in needed_features(candidate.pod) if name not in node.features]
    text = f"Pod requires node features that are not available: {', '.join(missing)}"
    return Refusal("PodFeatureUnsupported", text) if missing else None


CHECK: Final = AdmissionCheck(130, undeclared_features)
