"""The API's rules for the fields of a pod that a scheduler reads (API reference, PodSpec v1 core).

Affinity and spread constraints are raw JSON in PodSpec, since this agent reads the required node affinity alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from actors.shared.kube import formats
from actors.shared.kube.pod import PodSpec, Toleration

from .field_check import FieldCheck

_NODE_OPERATORS: Final = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def check_scheduling(spec: PodSpec, check: FieldCheck) -> None:
    for key, value in spec.nodeSelector.items():
        _check_label(key, value, check.at("nodeSelector").item(key))
    for index, toleration in enumerate(spec.tolerations):
        _check_toleration(toleration, check.at("tolerations").item(index))
    for index, gate in enumerate(spec.readinessGates):
        check.at("readinessGates").item(index).at("conditionType").form(formats.qualified_name, gate.conditionType)
    if spec.priorityClassName:
        check.at("priorityClassName").form(formats.dns_subdomain, spec.priorityClassName)
    check.at("priority").between(spec.priority, -(1 << 31), (1 << 31) - 1)
    _check_affinity(_plain(spec.affinity), check.at("affinity"))
    for constraint, where in _each(_plain(spec.topologySpreadConstraints), check.at("topologySpreadConstraints")):
        _check_spread(constraint, where)
    for one, where in _each(_plain(spec.schedulingGates), check.at("schedulingGates")):
        where.at("name").form(formats.qualified_name, _text(one.get("name"), where.at("name")))


def _check_label(key: str, value: str, check: FieldCheck) -> None:
    check.form(formats.qualified_name, key)
    check.form(formats.label_value, value)


def _check_toleration(toleration: Toleration, check: FieldCheck) -> None:
    check.at("operator").one_of(toleration.operator, ("Equal", "Exists", "Gt", "Lt"))
    check.at("effect").one_of(toleration.effect, ("NoExecute", "NoSchedule", "PreferNoSchedule"))
    if toleration.key:
        check.at("key").form(formats.qualified_name, toleration.key)
    elif toleration.operator != "Exists":
        check.at("operator").fail("must be Exists when there is no key: it tolerates everything")
    if toleration.operator == "Exists" and toleration.value:
        check.at("value").fail("must be empty when the operator is Exists")
    elif toleration.operator in ("", "Equal"):
        check.at("value").form(formats.label_value, toleration.value)
    if toleration.tolerationSeconds is not None and toleration.effect != "NoExecute":
        check.at("effect").fail("must be NoExecute when tolerationSeconds is set")


# -- plain JSON -------------------------------------------------------------------------------------------------------
def _plain(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw) if bytes(raw) else None


def _mapping(value: Any, check: FieldCheck) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, dict):
        check.fail("must be a mapping")
    return value if isinstance(value, dict) else {}


def _each(value: Any, check: FieldCheck) -> Iterator[tuple[Mapping[str, Any], FieldCheck]]:
    """The mappings of a list."""
    if value is not None and not isinstance(value, list):
        check.fail("must be a list")
        return
    for index, one in enumerate(value or ()):
        where = check.item(index)
        yield _mapping({} if one is None else one, where), where


def _text(value: Any, check: FieldCheck) -> str:
    if value is not None and not isinstance(value, str):
        check.fail("must be a text")
    return value if isinstance(value, str) else ""


def _required_text(value: Any, check: FieldCheck) -> str:
    if value in (None, ""):
        check.fail("required")
    return _text(value, check)


def _check_affinity(value: Any, check: FieldCheck) -> None:
    affinity = _mapping(value, check)
    where = check.at("nodeAffinity")
    node = _mapping(affinity.get("nodeAffinity"), where)
    if node.get(_REQUIRED) is not None:
        required = where.at(_REQUIRED)
        terms = _mapping(node[_REQUIRED], required).get("nodeSelectorTerms")
        required.at("nodeSelectorTerms").required(terms)
        for term, place in _each(terms, required.at("nodeSelectorTerms")):
            _check_node_term(term, place)
    for term, place in _each(node.get(_PREFERRED), where.at(_PREFERRED)):
        _check_weight(term, place)
        _check_node_term(_mapping(term.get("preference"), place.at("preference")), place.at("preference"))
    for kind in ("podAffinity", "podAntiAffinity"):
        where = check.at(kind)
        pods = _mapping(affinity.get(kind), where)
        for term, place in _each(pods.get(_REQUIRED), where.at(_REQUIRED)):
            _check_pod_term(term, place)
        for term, place in _each(pods.get(_PREFERRED), where.at(_PREFERRED)):
            _check_weight(term, place)
            where_pod = place.at("podAffinityTerm")
            _check_pod_term(_mapping(term.get("podAffinityTerm"), where_pod), where_pod)


def _check_weight(term: Mapping[str, Any], check: FieldCheck) -> None:
    weight = term.get("weight")
    if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= 100:
        check.at("weight").fail("must be between 1 and 100")


def _check_node_term(term: Mapping[str, Any], check: FieldCheck) -> None:
    for requirement, where in _each(term.get("matchExpressions"), check.at("matchExpressions")):
        where.at("key").form(formats.qualified_name, _text(requirement.get("key"), where.at("key")))
        values = requirement.get("values") or []
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            where.at("values").fail("must be a list of texts")
            continue
        operator = _required_text(requirement.get("operator"), where.at("operator"))
        where.at("operator").one_of(operator, _NODE_OPERATORS)
        if operator in ("In", "NotIn"):
            where.at("values").required(values)
            for index, one in enumerate(values):
                where.at("values").item(index).form(formats.label_value, one)
        elif operator in ("Exists", "DoesNotExist") and values:
            where.at("values").fail(f"must be empty when the operator is {operator}")
        elif operator in ("Gt", "Lt") and len(values) != 1:
            where.at("values").fail(f"must be one number when the operator is {operator}")


def _check_pod_term(term: Mapping[str, Any], check: FieldCheck) -> None:
    key = _required_text(term.get("topologyKey"), check.at("topologyKey"))
    if key:
        check.at("topologyKey").form(formats.qualified_name, key)
    _check_selector(term.get("labelSelector"), check.at("labelSelector"))


def _check_spread(constraint: Mapping[str, Any], check: FieldCheck) -> None:
    skew = constraint.get("maxSkew")
    if not isinstance(skew, int) or isinstance(skew, bool) or not 1 <= skew < 1 << 31:
        check.at("maxSkew").fail("must be a number of at least 1")
    choice = _required_text(constraint.get("whenUnsatisfiable"), check.at("whenUnsatisfiable"))
    check.at("whenUnsatisfiable").one_of(choice, ("DoNotSchedule", "ScheduleAnyway"))
    _required_text(constraint.get("topologyKey"), check.at("topologyKey"))
    _check_selector(constraint.get("labelSelector"), check.at("labelSelector"))


def _check_selector(value: Any, check: FieldCheck) -> None:
    labels = _mapping(_mapping(value, check).get("matchLabels"), check.at("matchLabels"))
    for key, one in labels.items():
        where = check.at("matchLabels").item(key)
        _check_label(key, _text(one, where), where)
