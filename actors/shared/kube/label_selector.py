"""Label selectors (API reference, LabelSelector v1 meta): their validation, and what they select. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from . import formats
from .go_text import quoted
from .meta import Api
from .node_selector import Requirement, matches_requirement

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


class LabelSelector(Api, frozen=True):
    matchLabels: dict[str, str] = {}
    matchExpressions: list[Requirement] = []

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field, and the broken rule."""
        for key, value in self.matchLabels.items():
            for wrong in filter(None, (formats.qualified_name(key), formats.label_value(value))):
                yield f"matchLabels[{key}]", wrong
        for index, one in enumerate(self.matchExpressions):
            for field, wrong in _requirement_problems(one):
                yield f"matchExpressions[{index}].{field}", wrong


class LabelSelectorError(ValueError):
    """The selector is not valid."""


def selects_labels(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether it selects an object with these labels: None selects nothing, an empty selector everything.

    Raises LabelSelectorError, with the words of the kubelet's client library.
    """
    if selector is None:
        return False
    for one in selector.matchExpressions:
        if one.operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
            raise LabelSelectorError(f"{quoted(one.operator)} is not a valid label selector operator")
    if any(labels.get(key) != value for key, value in selector.matchLabels.items()):
        return False
    return all(matches_requirement(one, labels) for one in selector.matchExpressions)


def _requirement_problems(one: Requirement) -> Iterator[tuple[str, str]]:
    if wrong := formats.qualified_name(one.key):
        yield "key", wrong
    if one.operator in _WITH_VALUES:
        if not one.values:
            yield "values", "must be specified when `operator` is 'In' or 'NotIn'"
    elif one.operator in _WITHOUT_VALUES:
        if one.values:
            yield "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    else:
        yield "operator", f"{one.operator[:40]!r} is not one of {', '.join(sorted((*_WITH_VALUES, *_WITHOUT_VALUES)))}"
    for index, value in enumerate(one.values or ()):
        if wrong := formats.label_value(value):
            yield f"values[{index}]", wrong
