"""Whether a pod may be on this node by what its Node object says: selector, required affinity, taints, system.

Source: the kubelet's predicate admit handler and the concept page "Assigning Pods to Nodes". Pure.
"""

from __future__ import annotations

import msgspec

from actors.shared.kube.pod import Pod, Toleration
from actors.shared.kube.pods import is_static
from supervision.errors import UNREADABLE

OS_LABEL = "kubernetes.io/os"
OS = "linux"


class Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str = ""
    value: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, frozen=True):
    taints: list[Taint] | None = None


class NodeFacts(msgspec.Struct, frozen=True):
    """Of a Node object."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


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
_NODE = msgspec.json.Decoder(NodeFacts)


def read_node(body: bytes) -> NodeFacts | None:
    """None for an object that is not a Node."""
    try:
        return _NODE.decode(body)
    except UNREADABLE:
        return None


def asks(pod: Pod) -> bool:
    """Whether the Node object matters for this pod at all."""
    return not is_static(pod) or bool(pod.spec.nodeSelector or bytes(pod.spec.affinity) or pod.spec.os)


def unfit(pod: Pod, node: NodeFacts) -> tuple[str, str]:
    """Reason and message of the refusal, as the reference words them; ('', '') when the pod fits."""
    labels = node.metadata.labels or {}
    if not _selected(pod, node.metadata.name, labels):
        return "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    if not is_static(pod) and (taint := _untolerated(pod.spec.tolerations, node.spec.taints or [])) is not None:
        text = f"node(s) had untolerated taint(s): {{{taint.key}: {taint.value}}}"
        return "TaintToleration", f"Predicate TaintToleration failed: {text}"
    if pod.spec.nodeSelector.get(OS_LABEL, OS) != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return "PodOSSelectorNodeLabelDoesNotMatch", text
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"
    return "", ""


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


def _untolerated(tolerations: list[Toleration], taints: list[Taint]) -> Taint | None:
    for taint in taints:
        if taint.effect == "NoExecute" and not any(_tolerates(one, taint) for one in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.key == taint.key and toleration.value == taint.value
