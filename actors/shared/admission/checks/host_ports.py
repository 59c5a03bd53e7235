"""Whether a pod's host ports are free. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pod import HostPort

_ANY_ADDRESS: Final = {"", "0.0.0.0"}  # noqa: S104 - what a host port without an address means
"""The addresses that mean all addresses, without `::`: the scheduler treats it as an ordinary address, and
would place the refused pod here again."""


def occupied_host_port(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """NodePorts, if an admitted pod uses one of the pod's host ports."""
    if any(conflict(port, other) for port in candidate.demand.ports for other in node.usage.ports):
        text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
        return Refusal("NodePorts", text)
    return None


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports exclude each other."""
    same_address = one[0] == other[0] or one[0] in _ANY_ADDRESS or other[0] in _ANY_ADDRESS
    return one[1:] == other[1:] and same_address


CHECK: Final = AdmissionCheck(80, occupied_host_port)
