"""The admission checks in the reference's order; the first refusal counts. To add a check, add it to CHECKS. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.kube.pod import HostPort

from .node_conditions import node_condition
from .request import Candidate, Check, NodeState, Refusal
from .resources import insufficient_resource

_ANY_ADDRESS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - what a host port without an address means


def occupied_host_port(candidate: Candidate, node: NodeState) -> Refusal | None:
    """NodePorts, when an admitted pod has one of the pod's host ports."""
    if any(conflict(port, other) for port in candidate.demand.ports for other in node.usage.ports):
        text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
        return Refusal("NodePorts", text)
    return None


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports cannot be listened on at one time."""
    same_address = one[0] == other[0] or one[0] in _ANY_ADDRESS or other[0] in _ANY_ADDRESS
    return one[1:] == other[1:] and same_address


def node_shutdown(candidate: Candidate, node: NodeState) -> Refusal | None:
    """NodeShutdown, for every pod while the node is shutting down."""
    return Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.") if node.shutting_down else None


CHECKS: Final[tuple[Check, ...]] = (
    node_condition,
    insufficient_resource,
    occupied_host_port,
    node_shutdown,
)


def refusal(candidate: Candidate, node: NodeState) -> Refusal | None:
    """Why this pod may not run here; None when it may."""
    return next((found for check in CHECKS if (found := check(candidate, node)) is not None), None)
