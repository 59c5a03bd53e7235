"""Whether a pod is bound to this node. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal


def other_node(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """NodeName, for a pod that is bound to another node."""
    wanted = candidate.pod.spec.nodeName
    if node.object is None or wanted in ("", node.object.metadata.name):
        return None
    return Refusal("NodeName", "Predicate NodeName failed: node(s) didn't match the requested node name")


CHECK: Final = AdmissionCheck(70, other_node)
