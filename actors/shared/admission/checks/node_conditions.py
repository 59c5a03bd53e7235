"""Whether the node's pressure conditions refuse a pod. Pure.

Source: the kubelet's eviction manager. Critical pods are always admitted. MemoryPressure alone refuses only BestEffort
pods that do not tolerate its taint.
"""

from __future__ import annotations

from typing import Final

from actors.shared.admission.node_object import NodeTaint, tolerates
from actors.shared.admission.request import AdmissionCheck, Demand, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pods import is_critical

MEMORY_PRESSURE: Final = "MemoryPressure"
DISK_PRESSURE: Final = "DiskPressure"
PID_PRESSURE: Final = "PIDPressure"
_ORDER: Final = (MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE)
_TAINT: Final = NodeTaint("node.kubernetes.io/memory-pressure", "NoSchedule")


def node_condition(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """Evicted, if the node has a pressure condition that the pod is not exempt from."""
    if not node.conditions or is_critical(candidate.pod):
        return None
    tolerated = any(tolerates(one, _TAINT) for one in candidate.pod.spec.tolerations)
    if node.conditions == {MEMORY_PRESSURE} and (candidate.demand.qos != "BestEffort" or tolerated):
        return None
    return _evicted(node)


def resize_under_pressure(demand: Demand, node: NodeState) -> Refusal | None:
    """The same for a pod that asks for other resources: its class stays, which is not BestEffort."""
    return _evicted(node) if node.conditions - {MEMORY_PRESSURE} and not demand.critical else None


def _evicted(node: NodeState) -> Refusal:
    conditions = " ".join(name for name in _ORDER if name in node.conditions)
    return Refusal("Evicted", f"The node had condition: [{conditions}]. ")


CHECK: Final = AdmissionCheck(10, node_condition, before_hardware=True)
