"""Whether the node has the labels that a pod's selector and required affinity ask for. Pure.

Source: the kubelet's predicate admit handler and the concept page "Assigning Pods to Nodes".
"""

from __future__ import annotations

import msgspec

from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from supervision.errors import UNREADABLE

from .request import Candidate, NodeState, Refusal


class _Requirement(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(msgspec.Struct, frozen=True):
    matchExpressions: list[_Requirement] | None = None
    matchFields: list[_Requirement] | None = None


class _Selector(msgspec.Struct, frozen=True):
    nodeSelectorTerms: list[_Term] | None = None


class _NodeAffinity(msgspec.Struct, frozen=True):
    requiredDuringSchedulingIgnoredDuringExecution: _Selector | None = None


class _Affinity(msgspec.Struct, frozen=True):
    nodeAffinity: _NodeAffinity | None = None


_AFFINITY = msgspec.json.Decoder(_Affinity | None)


def node_matters(pod: Pod) -> bool:
    """Whether any check reads the Node object for this pod."""
    return not is_static(pod) or bool(pod.spec.nodeSelector or bytes(pod.spec.affinity))


def unmatched_affinity(candidate: Candidate, node: NodeState) -> Refusal | None:
    """NodeAffinity. Without a Node object the node is taken for one that matches: the scheduler has checked it."""
    known, pod = node.object, candidate.pod
    if known is None or _selected(pod, known.metadata.name, known.metadata.labels or {}):
        return None
    return Refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")


def _selected(pod: Pod, name: str, labels: dict[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in pod.spec.nodeSelector.items()):
        return False
    raw = bytes(pod.spec.affinity)
    try:
        affinity = _AFFINITY.decode(raw) if raw else None
    except UNREADABLE:
        return False
    wanted = affinity.nodeAffinity if affinity is not None else None
    required = wanted.requiredDuringSchedulingIgnoredDuringExecution if wanted is not None else None
    if required is None:
        return True
    return any(_matches(term, name, labels) for term in required.nodeSelectorTerms or [])


def _matches(term: _Term, name: str, labels: dict[str, str]) -> bool:
    """Whether all requirements of a term hold; an empty term matches nothing."""
    expressions, fields = term.matchExpressions or [], term.matchFields or []
    if not expressions and not fields:
        return False
    return all(_holds(one, labels) for one in expressions) and all(
        _holds(one, {"metadata.name": name}) for one in fields
    )


def _holds(requirement: _Requirement, has: dict[str, str]) -> bool:
    value, values = has.get(requirement.key), requirement.values or []
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement.operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: list[str]) -> bool:
    try:
        mine, other = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return mine > other if operator == "Gt" else mine < other
