"""Reads the pod of a question to the container manager. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from actors.shared.admission.request import PodAdmitAttributes, demand_of
from actors.shared.kube.codec import decode_pod
from actors.shared.linux.cgroup_limits import CgroupLimits

from ..cgroups.pod_limits import Rules, pod_limits


def read_candidate(uid: str, data: bytes, rules: Rules) -> tuple[PodAdmitAttributes, CgroupLimits]:
    """The pod (as JSON) with its demand, and the limits of its cgroup. Raises ObjectError, QuantityError."""
    pod = decode_pod(data)
    pod = replace(pod, metadata=replace(pod.metadata, uid=uid))
    return PodAdmitAttributes(pod, demand_of(uid, pod)), pod_limits(pod, rules)
