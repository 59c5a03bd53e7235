"""Whether the node is shutting down: then no pod is admitted. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal


def node_shutdown(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """NodeShutdown, for every pod while the node is shutting down."""
    return shutdown_refusal(node)


def shutdown_refusal(node: NodeState) -> Refusal | None:
    """The same for a pod that asks for other resources."""
    return Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.") if node.shutting_down else None


CHECK: Final = AdmissionCheck(140, node_shutdown)
