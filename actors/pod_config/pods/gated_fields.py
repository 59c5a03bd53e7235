"""Drops fields of a pod whose feature gate is off on this node, even if the API server accepts them.

Rules with RestartAllContainers stay while the node declares its features: admission refuses the pod by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from actors.shared.kube.restart_policy import RESTART_ALL

Gate = Callable[[str], bool]
"""Whether a feature gate is on."""
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def without_gated_fields(pod: dict[str, Any], gate: Gate) -> None:
    """Take the fields out of the pod, which has the shape of the API."""
    spec = pod.get("spec") or {}
    if not gate("HostnameOverride"):
        spec.pop("hostnameOverride", None)
    if not gate("EnvFiles"):
        for _, container in _containers(spec):
            for variable in container.get("env") or ():
                if (variable.get("valueFrom") or {}).get("fileKeyRef") is not None:
                    del variable["valueFrom"]
    if not gate("ContainerRestartRules"):
        for kind, container in _containers(spec):
            if kind == "containers" or container.get("restartPolicy") != "Always":
                container.pop("restartPolicy", None)
    _drop_rules(spec, gate)


def _drop_rules(spec: dict[str, Any], gate: Gate) -> None:
    refused = not gate("RestartAllContainersOnContainerExits") and gate("NodeDeclaredFeatures")
    single, whole = gate("ContainerRestartRules"), gate("RestartAllContainersOnContainerExits") or refused
    if single and whole:
        return
    for _, container in _containers(spec):
        rules = container.get("restartPolicyRules") or ()
        container["restartPolicyRules"] = [
            rule for rule in rules if (whole if rule.get("action") == RESTART_ALL else single)
        ]


def _containers(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            yield kind, container
