"""The resizes that are infeasible on this node (KEP-1287). Pure. Texts, order and metric labels are those of the
kubelet's admit handler for resizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, is_sidecar, qos_class

INFEASIBLE: Final = "Infeasible"
DEFERRED: Final = "Deferred"
_GUARANTEED: Final = 'Resize is infeasible for Guaranteed Pods alongside {} Manager policy "{}"'


class RefusedResize(msgspec.Struct, frozen=True):
    """Why a resize is not carried out."""

    message: str
    detail: str
    """The label of the metric kubelet_pod_infeasible_resizes_total; for a deferred resize, the reason of the admission
    check that refused it, for its event."""
    reason: str = INFEASIBLE
    """Or Deferred: not now."""


class ResizeRules:
    """The rules of one configuration.

    `static_cpu`, `static_memory`: whether the managers of CPUs and memory have the static policy.
    """

    def __init__(self, gate: Callable[[str], bool], *, static_cpu: bool = False, static_memory: bool = False) -> None:
        """`gate`: whether a feature gate is on."""
        self._pod_level = gate("InPlacePodLevelResourcesVerticalScaling")
        self._init = gate("InPlacePodVerticalScalingInitContainers")
        self._static_cpu = static_cpu and not gate("InPlacePodVerticalScalingExclusiveCPUs")
        self._static_memory = static_memory and not gate("InPlacePodVerticalScalingExclusiveMemory")

    def refusal(self, wanted: Pod, allocated: Pod) -> RefusedResize | None:
        """None: the resize is carried out once there is room."""
        if not self._pod_level and _differ(wanted.spec.resources, allocated.spec.resources):
            return RefusedResize("InPlacePodLevelResourcesVerticalScaling is disabled", "plr_feature_gate_off")
        if qos_class(wanted) != "Guaranteed":
            return None
        changed = self._changed_resources(wanted, allocated)
        if self._static_cpu and "cpu" in changed:
            return RefusedResize(_GUARANTEED.format("CPU", "static"), "guaranteed_pod_cpu_manager_static_policy")
        if self._static_memory and "memory" in changed:
            return RefusedResize(_GUARANTEED.format("Memory", "Static"), "guaranteed_pod_memory_manager_static_policy")
        return None

    def _changed_resources(self, wanted: Pod, allocated: Pod) -> set[str]:
        """The resources whose requested amount changes in a container."""
        before = {one.name: one.resources for one in (*allocated.spec.initContainers, *allocated.spec.containers)}
        init = [one for one in wanted.spec.initContainers if self._init or is_sidecar(one)]
        return {
            name
            for one in (*init, *wanted.spec.containers)
            for name in ("cpu", "memory")
            if _request(one.resources, name) != _request(before.get(one.name), name)
        }


def _request(resources: ResourceRequirements | None, name: str) -> int:
    return amount(name, resources.requests[name]) if resources is not None and name in resources.requests else 0


def _differ(one: ResourceRequirements | None, other: ResourceRequirements | None) -> bool:
    def amounts(given: ResourceRequirements | None) -> dict[tuple[str, str], int]:
        kinds = {"requests": given.requests, "limits": given.limits} if given is not None else {}
        return {(kind, name): amount(name, value) for kind, values in kinds.items() for name, value in values.items()}

    return amounts(one) != amounts(other)
