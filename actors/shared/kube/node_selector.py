"""Node selectors, as in the required node affinity of a pod or a PersistentVolume. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_NUMBER: Final = re.compile(r"[0-9]{1,63}\Z", re.ASCII)
"""A label's value has at most 63 characters."""
_MOST: Final = 2**63 - 1


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(msgspec.Struct, frozen=True, omit_defaults=True):
    matchExpressions: list[Requirement] | None = None
    matchFields: list[Requirement] | None = None


class NodeSelector(msgspec.Struct, frozen=True, omit_defaults=True):
    nodeSelectorTerms: list[NodeSelectorTerm] | None = None


def selects(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Whether one of its terms matches the node."""
    return any(_matches(term, name, labels) for term in selector.nodeSelectorTerms or [])


def _matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """All requirements of a term must hold; an empty term matches nothing."""
    expressions, fields = term.matchExpressions or [], term.matchFields or []
    if not expressions and not fields:
        return False
    return all(matches_requirement(one, labels) for one in expressions) and all(
        matches_requirement(one, {"metadata.name": name}) for one in fields
    )


def matches_requirement(requirement: Requirement, has: Mapping[str, str]) -> bool:
    """Whether these labels, or fields, satisfy the requirement."""
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
    """Gt and Lt compare a label with exactly one value, both decimal numbers of 64 bits."""
    if len(values) != 1:
        return False
    labelled, other = _number(value or ""), _number(values[0])
    if labelled is None or other is None:
        return False
    return labelled > other if operator == "Gt" else labelled < other


def _number(text: str) -> int | None:
    """A label's value has no sign, and `1_0` is no number."""
    number = int(text) if _NUMBER.match(text) else _MOST + 1
    return number if number <= _MOST else None
