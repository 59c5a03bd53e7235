"""Which features the node declares: a scheduler sends pods that need one only where it is declared, and the API server
refuses updates of pods that need one elsewhere (KEP-5328). Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

OFFERED: Final = ("InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits")
"""Of the features that are to be declared those that this agent has; named as their gates."""


def declared_features(gate: Callable[[str], bool]) -> tuple[str, ...]:
    """Sorted, as the API wants them. `gate`: whether a feature gate is on."""
    return tuple(sorted(filter(gate, OFFERED))) if gate("NodeDeclaredFeatures") else ()
