"""The admission checks in the kubelet's order; the first refusal counts. To add a check, add it to CHECKS. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from .host_ports import occupied_host_port
from .node_affinity import other_node, unmatched_affinity
from .node_conditions import node_condition
from .platform import (
    other_os,
    pod_level_resources,
    unavailable_apparmor,
    undeclared_features,
    unprepared_claims,
    unsupported_groups_policy,
)
from .request import CheckFunction, NodeState, PodAdmitAttributes, Refusal
from .resources import insufficient_resource
from .sysctls import forbidden_sysctl
from .taints import untolerated_taint


class AdmissionCheck(NamedTuple):
    """One admission check."""

    refuse: CheckFunction
    of_admitted: bool = False
    """Also applies to a pod that was admitted before or runs already: the refusal does not depend on free resources."""


def node_shutdown(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """NodeShutdown, for every pod while the node is shutting down."""
    return Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.") if node.shutting_down else None


CHECKS: Final = (
    AdmissionCheck(node_condition),
    AdmissionCheck(forbidden_sysctl, of_admitted=True),
    AdmissionCheck(other_os),
    AdmissionCheck(unsupported_groups_policy, of_admitted=True),
    AdmissionCheck(insufficient_resource),
    AdmissionCheck(unmatched_affinity),
    AdmissionCheck(other_node),
    AdmissionCheck(occupied_host_port),
    AdmissionCheck(untolerated_taint),
    AdmissionCheck(unavailable_apparmor, of_admitted=True),
    AdmissionCheck(pod_level_resources),
    AdmissionCheck(unprepared_claims),
    AdmissionCheck(undeclared_features),
    AdmissionCheck(node_shutdown),
)

BEFORE_HARDWARE: Final = CHECKS[:2]
"""Those that come before CPUs, memory and devices are allocated to the pod."""


def first_refusal(candidate: PodAdmitAttributes, node: NodeState, *, admitted: bool = False) -> Refusal | None:
    """Why the pod is refused before any hardware is allocated to it. `admitted`: as below."""
    found = (check.refuse(candidate, node) for check in BEFORE_HARDWARE if check.of_admitted or not admitted)
    return next((refused for refused in found if refused is not None), None)


def refusal(
    candidate: PodAdmitAttributes, node: NodeState, *, admitted: bool = False, of_resources: bool = True
) -> Refusal | None:
    """Why the pod is refused; None if it is admitted. `admitted`: it was admitted before, or runs already.
    `of_resources`: also for what it lacks."""
    for check in CHECKS:
        if not of_resources and check.refuse is insufficient_resource:
            continue
        if check.of_admitted or not admitted:
            refused = check.refuse(candidate, node)
            if refused is not None:
                return refused
    return None
