"""The valid values of each policy setting: one table, for policy files and for orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import msgspec

from ..documents.suggestions import did_you_mean
from ..protocol import ROOT
from ..spec import Policy, Restart, Significance, Strategy

SUPERVISORS_ONLY = frozenset({"strategy", "total_restarts", "total_period_seconds", "auto_shutdown"})
LONGEST_SECONDS = 3600
"""The longest deadline that a policy may set."""
Rule = Callable[[Any], str]
"""Returns the error of a value, '' if it is valid."""


def _number(least: float, most: float, *, or_zero: bool = False, whole: bool = False) -> Rule:
    text = f"{'a whole number' if whole else 'a number'} from {least:.10g} to {most:.10g}" + (
        ", or 0" if or_zero else ""
    )

    def rule(value: Any) -> str:
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if right and (least <= value <= most or (or_zero and value == 0)):
            return ""
        return f"must be {text}, not {shown(value)}"

    return rule


def _one_of(choices: tuple[str, ...]) -> Rule:
    return lambda value: "" if value in choices else f"must be one of {', '.join(choices)}, not {shown(value)}"


def _boolean(value: Any) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {shown(value)}"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


RULES: dict[str, Rule] = {
    "restart": _one_of(get_args(Restart)),
    "shutdown_seconds": _number(0, LONGEST_SECONDS),
    "start_seconds": _number(0.1, LONGEST_SECONDS),
    "heartbeat_seconds": _number(0.5, LONGEST_SECONDS, or_zero=True),
    "busy_seconds": _number(0.2, LONGEST_SECONDS, or_zero=True),
    "memory_mib": _number(16, 1024 * 1024, or_zero=True, whole=True),
    "significant": _boolean,
    "max_restarts": _number(0, 1000, whole=True),
    "period_seconds": _number(0.1, 86400),
    "backoff_seconds": _number(0, 3600),
    "backoff_max_seconds": _number(0, 3600),
    "backoff_reset_seconds": _number(0.1, 86400),
    "strategy": _one_of(get_args(Strategy)),
    "total_restarts": _number(0, 10000, whole=True),
    "total_period_seconds": _number(0.1, 86400),
    "auto_shutdown": _one_of(get_args(Significance)),
}


def wrong_setting(field: str, value: Any) -> str:
    """The error of a setting, '' if it is valid."""
    if field not in RULES:
        return f"is not known{did_you_mean(field, RULES)}"
    return "must be a value, not a mapping" if isinstance(value, dict) else RULES[field](value)


def policy_conflicts(name: str, policy: Policy) -> Iterator[tuple[str, str]]:
    """(field, rule) for each conflict between the valid settings of one policy."""
    most, first = policy.backoff_max_seconds, policy.backoff_seconds
    if most < first:
        yield "backoff_max_seconds", f"is {most:g}, less than backoff_seconds, {first:g}"
    if name == ROOT and policy.restart != "permanent":
        yield "restart", "the root must be permanent"


def wrong_policies(policies: Mapping[str, Policy]) -> str:
    """The error in policies that do not come from a validated file; '' if there is none."""
    found = []
    for name, policy in policies.items():
        wrong = [(field, wrong_setting(field, value)) for field, value in msgspec.structs.asdict(policy).items()]
        problems = [one for one in wrong if one[1]] or policy_conflicts(name, policy)
        found += [f"{name}.{field}: {rule}" for field, rule in problems]
    return "; ".join(found)
