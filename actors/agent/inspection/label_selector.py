"""Label selectors as kubectl's `-l` takes them (API concepts, "Labels and Selectors"). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from actors.shared.kube.node_selector import Requirement, matches_requirement

_KEY: Final = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_EQUALS: Final = re.compile(rf"({_KEY})\s*(=|==|!=)\s*({_VALUE})")
_IN: Final = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTS: Final = re.compile(rf"(!?)\s*({_KEY})")
_COMMA: Final = re.compile(r",(?![^()]*\))")
"""A comma that is not within parentheses."""


def parse(text: str) -> list[Requirement]:
    """`a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`; several are separated by commas.

    Raises ValueError with the wrong part."""
    return [_requirement(part.strip()) for part in _COMMA.split(text)] if text else []


def _requirement(part: str) -> Requirement:
    if found := _EQUALS.fullmatch(part):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", [found[3]])
    if found := _IN.fullmatch(part):
        values = [value.strip() for value in found[3].split(",")]
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    elif found := _EXISTS.fullmatch(part):
        return Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    raise ValueError(f"{part!r} is no label selector as app=web, app!=web, 'app in (web,db)', app or !app")


def matches(requirements: list[Requirement], labels: Mapping[str, str]) -> bool:
    return all(matches_requirement(requirement, labels) for requirement in requirements)
