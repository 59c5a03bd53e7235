"""The kinds of rules. A rule has a field, a text and a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, Final, NamedTuple

import msgspec

from actors.shared.config import feature_gates
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.quantity import QuantityError
from supervision.documents.model import below


class ValidationContext(msgspec.Struct, frozen=True):
    """Facts for the rules. An unknown fact (None) breaks no rule."""

    online_cpus: frozenset[int] | None = None
    cgroup_v2: bool | None = None
    memory: int | None = None
    """Bytes of memory of the machine."""
    standalone: bool | None = None
    """There is no --kubeconfig."""


QUANTITY: Final = "must be a quantity, like 500m or 64Mi"
AMOUNT: Final = "must be a quantity, like 100Mi, or a percentage, like 10%"
Finding = tuple[str, Any, str]
"""(path, offending value, what must hold; '' for the rule's own text)."""


class Rule(NamedTuple):
    field: str
    """The path of its field, under which `explain` lists the rule."""
    text: str
    broken: Callable[[KubeletConfiguration, ValidationContext], Iterable[Finding]]


def value_at(config: KubeletConfiguration, path: str) -> Any:
    """The value of a field; None in a group that is not set."""
    return reduce(lambda value, name: None if value is None else getattr(value, name), path.split("."), config)


def gate(config: KubeletConfiguration, name: str) -> bool:
    """Whether a gate is on in this configuration."""
    return feature_gates.enabled(name, config.featureGates)


def check(field: str, text: str, good: Callable[[Any], bool]) -> Rule:
    """A rule on one value; an unset field is valid."""

    def broken(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
        value = value_at(config, field)
        if value is not None and not good(value):
            yield field, value, ""

    return Rule(field, text, broken)


def between(field: str, low: float, high: float) -> Rule:
    return check(field, f"must be from {low} to {high}", lambda value: low <= value <= high)


def at_least(field: str, low: float) -> Rule:
    return check(field, f"must be {low} or more", lambda value: value >= low)


def positive(field: str, unit: str = "") -> Rule:
    return check(field, f"must be more than 0{unit}", lambda value: value > 0)


def one_of(field: str, *choices: str) -> Rule:
    names = ", ".join(choice or '""' for choice in choices)
    return check(field, f"must be one of {names}", lambda value: value in choices)


def across(field: str, text: str, good: Callable[[KubeletConfiguration, ValidationContext], bool]) -> Rule:
    """A rule on one field that depends on others."""

    def broken(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
        if not good(config, context):
            yield field, value_at(config, field), ""

    return Rule(field, text, broken)


def each(field: str, text: str, wrong: Callable[[KubeletConfiguration, str, Any], str]) -> Rule:
    """A rule on every entry of a list or map: `wrong(config, key, value)` returns the broken rule, '' if none."""

    def broken(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
        entries = value_at(config, field) or {}
        keyed = entries.items() if isinstance(entries, dict) else enumerate(entries)
        for key, value in keyed:
            rule = wrong(config, str(key), value)
            if rule:
                yield below(field, key) if isinstance(key, str) else f"{field}[{key}]", value, rule

    return Rule(field, text, broken)


def refusal(read: Callable[[Any], object], value: Any, quantity: str = QUANTITY) -> str:
    """The rule that a parser raises for a value; '' for none. `quantity`: the one for a value that is no quantity."""
    try:
        read(value)
    except QuantityError:
        return quantity
    except ValueError as error:
        return str(error)
    return ""
