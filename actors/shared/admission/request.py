"""The input of an admission check (a pod and the state of the node) and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from actors.shared.kube.pod import HostPort, Pod
from actors.shared.kube.pods import is_critical, is_sidecar, pod_requests, qos_class
from actors.shared.kube.resource_claims import without_claimed

from .node_object import NodeObject


class Refusal(msgspec.Struct, frozen=True):
    """Why a pod is refused. Reason and message are the kubelet's, because people and tools match them."""

    reason: str
    message: str


class Demand(msgspec.Struct, frozen=True):
    """The resources that one pod takes."""

    uid: str
    requests: dict[str, int]
    """cpu in thousandths of a core, everything else in bytes or units."""
    ports: frozenset[HostPort]
    qos: str
    priority: int | None = None
    critical: bool = False
    """It is critical: other pods may be ended to make room."""
    served: frozenset[str] = frozenset()
    """Extended resources that device plugins have already given it."""


class AdmittedUsage(msgspec.Struct, frozen=True):
    """The resources that all admitted pods take."""

    pods: int = 0
    requests: Mapping[str, int] = {}
    """In the units of Demand."""
    ports: frozenset[HostPort] = frozenset()


def usage_of(demands: Iterable[Demand]) -> AdmittedUsage:
    """The resources that these pods take together."""
    demands, total = list(demands), dict[str, int]()
    for demand in demands:
        for name, value in demand.requests.items():
            total[name] = total.get(name, 0) + value
    return AdmittedUsage(len(demands), total, frozenset(port for demand in demands for port in demand.ports))


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """The node at the moment of admission."""

    allocatable: Mapping[str, int]
    """In the units of Demand; `pods` is the largest number of pods. Without extended resources, which the Node object
    has."""
    usage: AdmittedUsage = AdmittedUsage()
    conditions: frozenset[str] = frozenset()
    """The true conditions of MemoryPressure, DiskPressure and PIDPressure."""
    shutting_down: bool = False
    allowed_sysctls: Sequence[str] = ()
    """allowedUnsafeSysctls."""
    object: NodeObject | None = None
    """The Node object; None if it is not known, or not needed for the pod."""
    strict_groups: bool = False
    """The runtime supports supplementalGroupsPolicy."""
    apparmor: bool = False
    """AppArmor is enabled in the kernel."""
    claims: bool = False
    """Resource claims can be prepared: there is an API server, and the gate is on."""
    extended_claims: bool = False
    """Gate DRAExtendedResource."""
    pod_level: bool = True
    """Gate PodLevelResources."""
    features: frozenset[str] | None = None
    """The features that the node declares; None: it declares none, and no pod is refused for a missing one."""


class PodAdmitAttributes(msgspec.Struct, frozen=True):
    """A pod that asks for admission."""

    pod: Pod
    demand: Demand


CheckFunction = Callable[[PodAdmitAttributes, NodeState], Refusal | None]
"""Returns None if the check accepts the pod."""


class AdmissionCheck(NamedTuple):
    """The declaration of an admission check."""

    order: int
    """Its place among the checks, as in the kubelet: the first refusal counts."""
    refuse: CheckFunction
    of_admitted: bool = False
    """Also applies to a pod that was admitted before or runs already, because the result does not depend on free
    resources."""
    before_hardware: bool = False
    """Runs before CPUs, memory and devices are allocated to the pod."""
    of_resources: bool = False
    """Refuses for resources that the node lacks: other pods can make room."""


def demand_of(uid: str, pod: Pod) -> Demand:
    """Extended resources that a resource claim provides are not counted against the node. Raises QuantityError,
    ObjectError."""
    requests = pod_requests(without_claimed(pod))
    return Demand(uid, requests, host_ports(pod), qos_class(pod), pod.spec.priority, is_critical(pod))


def host_ports(pod: Pod) -> frozenset[HostPort]:
    """The host ports of the pod's containers; with hostNetwork, all their ports."""
    containers = [*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers]
    ports = [port for container in containers for port in container.ports]
    found = [(port, port.hostPort or (port.containerPort if pod.spec.hostNetwork else 0)) for port in ports]
    return frozenset((port.hostIP, number, port.protocol) for port, number in found if number > 0)
