"""Whether the node matches a pod's node selector and required node affinity. Pure.

Source: the kubelet's predicate admit handler and the concept page "Assigning Pods to Nodes".
"""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.node_selector import NodeSelector, selects
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from supervision.errors import UNREADABLE

NODE_AFFINITY: Final = "NodeAffinity"


class _NodeAffinity(msgspec.Struct, frozen=True):
    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector | None = None


class _Affinity(msgspec.Struct, frozen=True):
    nodeAffinity: _NodeAffinity | None = None


_AFFINITY = msgspec.json.Decoder(_Affinity | None)


def node_matters(pod: Pod) -> bool:
    """Whether any check reads the Node object for this pod."""
    return not is_static(pod) or bool(pod.spec.nodeSelector or bytes(pod.spec.affinity)) or _asks_for_extended(pod)


def _asks_for_extended(pod: Pod) -> bool:
    containers = (*pod.spec.initContainers, *pod.spec.containers)
    return any(is_extended(name) for one in containers for name in (*one.resources.requests, *one.resources.limits))


def unmatched_affinity(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """NodeAffinity. Without a Node object the node counts as matching: the scheduler has checked it."""
    known, pod = node.object, candidate.pod
    if known is None or _selects_node(pod, known.metadata.name, known.metadata.labels or {}):
        return None
    return Refusal(NODE_AFFINITY, "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")


def _selects_node(pod: Pod, name: str, labels: dict[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in pod.spec.nodeSelector.items()):
        return False
    raw = bytes(pod.spec.affinity)
    try:
        affinity = _AFFINITY.decode(raw) if raw else None
    except UNREADABLE:
        return False
    wanted = affinity.nodeAffinity if affinity is not None else None
    required = wanted.requiredDuringSchedulingIgnoredDuringExecution if wanted is not None else None
    return required is None or selects(required, name, labels)


CHECK: Final = AdmissionCheck(60, unmatched_affinity)
