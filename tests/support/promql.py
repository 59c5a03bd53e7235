"""Reads the metrics, and the labels asked of them, of a PromQL expression: as much of the language as etc/ uses."""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?(?!\s*\(|[\w:{])")
_RANGE = re.compile(r"\[[^\]]*\]")


class Selector(NamedTuple):
    """One series that an expression asks for."""

    metric: str
    labels: frozenset[str]


def selectors(expression: str) -> list[Selector]:
    """The series of the expression."""
    plain = _GROUPING.sub("", _RANGE.sub("", _STRING.sub('""', expression)))
    return [
        Selector(name, frozenset(re.findall(r"([a-zA-Z_]\w*)\s*[=!]", labels)))
        for name, labels in _SELECTOR.findall(plain)
    ]


def grouped_by(expression: str) -> set[str]:
    """The labels of every `by (...)` and of its like."""
    return {label.strip() for inside in _GROUPING.findall(expression) for label in inside.split(",")}
