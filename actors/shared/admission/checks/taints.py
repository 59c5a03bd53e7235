"""Whether a pod tolerates the node's taints with the effect NoExecute. Static pods are not checked. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.node_object import tolerates
from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pods import is_static


def untolerated_taint(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """TaintToleration. Without a Node object no taint is known."""
    if node.object is None or is_static(candidate.pod):
        return None
    tolerations = candidate.pod.spec.tolerations
    for taint in node.object.spec.taints or []:
        if taint.effect == "NoExecute" and not any(tolerates(one, taint) for one in tolerations):
            text = "node(s) had taints that the pod didn't tolerate"
            return Refusal("TaintToleration", f"Predicate TaintToleration failed: {text}")
    return None


CHECK: Final = AdmissionCheck(90, untolerated_taint)
