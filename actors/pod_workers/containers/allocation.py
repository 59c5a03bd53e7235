"""The resources allocated to a pod. While a resize (KEP-1287) is pending they differ from its spec.

The container manager keeps them (`shared/pod_records`), so that a pod whose resize was refused keeps its resources over
restarts.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.shared.cri.model import CriContainer
from actors.shared.kube import pods
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.names import CONTAINER_RESOURCES
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError, milli
from actors.shared.pod_records import POD_LEVEL, RESIZABLE, PodRecord, without_limits_of_pod
from supervision.errors import UNREADABLE

Allocated = dict[str, ResourceRequirements]


class StoredAllocation(msgspec.Struct, frozen=True):
    """The stored allocation of one pod."""

    allocated: Allocated
    actuated: Allocated = {}
    """The actuated resources by ids of containers, where a kubelet has kept them by names, and by POD_LEVEL."""
    under_way: bool = False
    """A resize is allocated, and not all of it is known to be actuated."""


def of(pod: Pod) -> Allocated:
    """The resources of the spec by container name, without empty ones."""
    found = {each.name: each.resources for each in (*pod.spec.initContainers, *pod.spec.containers)}
    if pod.spec.resources is not None:
        found[POD_LEVEL] = pod.spec.resources
    return {name: resources for name, resources in found.items() if any(_amounts(resources))}


def resized(one: ResourceRequirements, other: ResourceRequirements) -> list[str]:
    """The differing resources, of cpu and memory. 0.1 and 100m are equal, and so are 0 and none: the kubelet records a
    container without a limit as one of 0."""
    first, second = _amounts(one), _amounts(other)
    count = len(RESIZABLE)
    return [name for place, name in enumerate(RESIZABLE) if first[place::count] != second[place::count]]


def same(one: Allocated, other: Allocated) -> bool:
    none = ResourceRequirements()
    return not any(resized(one.get(name, none), other.get(name, none)) for name in one.keys() | other.keys())


def _amounts(resources: ResourceRequirements) -> list[object]:
    return [_amount(kind.get(name)) for kind in (resources.limits, resources.requests) for name in RESIZABLE]


def _amount(quantity: object) -> object:
    try:
        return milli(quantity) or None if isinstance(quantity, str | int | float) else None
    except QuantityError:
        return quantity


def with_resources(pod: Pod, allocated: Mapping[str, ResourceRequirements]) -> Pod:
    """The pod with these resources instead of its spec's. A container that has none here keeps its claims only."""

    def given(one: Container) -> ResourceRequirements:
        return allocated.get(one.name, ResourceRequirements(claims=one.resources.claims))

    return pods.with_resources(pod, given, allocated.get(POD_LEVEL, pod.spec.resources))


def made_with(instance: CriContainer) -> ResourceRequirements | None:
    """The resources that the container was created with, from its annotation; None without one."""
    text = instance.annotations.get(CONTAINER_RESOURCES, "")
    try:
        return msgspec.json.decode(text, type=ResourceRequirements) if text else None
    except UNREADABLE:
        return None


def stored_of(pod: Pod, allocated: PodRecord, actuated: PodRecord | None) -> StoredAllocation:
    """The stored allocation of the pod. A container that it does not name has its spec's resources."""
    containers = (*pod.spec.initContainers, *pod.spec.containers)
    found = {one.name: allocated.containers.get(one.name, one.resources) for one in containers}
    whole = allocated.PodLevelResources
    whole = pod.spec.resources if isinstance(whole, msgspec.UnsetType) else whole
    if whole is not None:
        found[POD_LEVEL] = whole
    ids = actuated.ContainerIDs if actuated is not None else msgspec.UNSET
    known = dict(actuated.containers) if actuated is not None else {}
    of_pod = actuated.PodLevelResources if actuated is not None else None
    if isinstance(of_pod, ResourceRequirements):
        own = {name: one.limits for name, one in found.items()}
        known = {name: without_limits_of_pod(one, of_pod, own.get(name, {})) for name, one in known.items()}
    if not isinstance(ids, msgspec.UnsetType):
        known = {ids[name]: known[name] for name in ids if name in known}
    if isinstance(of_pod, ResourceRequirements):
        known[POD_LEVEL] = of_pod
    return StoredAllocation(
        {name: one for name, one in found.items() if any(_amounts(one))}, known, allocated.ResizeUnderWay is True
    )
