"""The state of the feature gates.

A locked gate accepts only its default. AllAlpha and AllBeta set every gate of their stage that is not set itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .feature_gate_table import DEPENDENCIES, NODE_GATES, OTHER_GATES, Gate, Stage

GATES: Final[Mapping[str, Gate]] = {**NODE_GATES, **OTHER_GATES}
"""Every gate of the release."""
_GROUPS: Final[Mapping[str, Stage]] = {"AllAlpha": "Alpha", "AllBeta": "Beta"}


def enabled(name: str, overrides: Mapping[str, bool]) -> bool:
    """Whether the gate is on. Raises KeyError for an unknown name."""
    gate = GATES[name]
    if name in overrides:
        return overrides[name]
    for group, stage in _GROUPS.items():
        if gate.stage == stage and not gate.locked and group in overrides and name not in _GROUPS:
            return overrides[group]
    return gate.default


def all_states(overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Every known gate with its effective value."""
    return {name: enabled(name, overrides) for name in GATES}


def broken_dependencies(overrides: Mapping[str, bool]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each gate that is on, with the gates it depends on that are off. Unknown names are ignored."""
    states = all_states({name: on for name, on in overrides.items() if name in GATES})
    for name, needed in DEPENDENCIES.items():
        off = tuple(one for one in needed if not states[one])
        if states[name] and off:
            yield name, off
