"""Features that a node declares (KEP-5328). The scheduler places a pod that needs a feature only on nodes that declare
it, other nodes refuse it, and the API server refuses an update that needs a feature which the pod's node lacks.
Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .pod import Pod
from .restart_policy import can_restart_all

_RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
_USERS_AND_NETWORK: Final = "UserNamespacesHostNetworkSupport"
OFFERED: Final = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    _RESTART_ALL,
)
"""The features of this agent that a node declares; named as their gates."""


def declared_features(gate: Callable[[str], bool]) -> tuple[str, ...]:
    """Sorted, as the API wants them. `gate`: whether a feature gate is on."""
    return tuple(sorted(filter(gate, OFFERED))) if gate("NodeDeclaredFeatures") else ()


def needed_features(pod: Pod) -> list[str]:
    """The features that the pod's spec needs, sorted."""
    spec = pod.spec
    needed = {_RESTART_ALL: can_restart_all(pod), _USERS_AND_NETWORK: spec.hostNetwork and spec.hostUsers is False}
    return [name for name in sorted(needed) if needed[name]]
