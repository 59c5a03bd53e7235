"""Whether a pod's requests fit on the node, at admission and at a resize. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.shared.admission.request import AdmissionCheck, Demand, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.huge_pages import is_huge_pages

_ALWAYS_CHECKED: Final = ("cpu", "memory", "ephemeral-storage")


def insufficient_resource(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """OutOfpods, OutOfcpu, OutOfmemory, ...: the first insufficient resource."""
    for name, requested, used, capacity in _amounts(candidate.demand, node):
        if 0 < requested > capacity - used:
            return Refusal(f"OutOf{name}", _insufficient_text(name, requested, used, capacity))
    return None


def shortages(demand: Demand, node: NodeState) -> dict[str, int]:
    """The missing amount of each resource, in the units of Demand."""
    return {
        name: requested - (capacity - used)
        for name, requested, used, capacity in _amounts(demand, node)
        if 0 < requested > capacity - used
    }


def resize_refusal(before: Demand, after: Demand, node: NodeState) -> Refusal | None:
    """Why an admitted pod, which is part of the usage, cannot have its new requests now; reasons as in
    insufficient_resource. Smaller requests always fit."""
    grown = [name for name in ("cpu", "memory") if after.requests.get(name, 0) > before.requests.get(name, 0)]
    for name in grown:
        requested, capacity = after.requests[name], node.allocatable.get(name, 0)
        used = node.usage.requests.get(name, 0) - before.requests.get(name, 0)
        if requested > capacity - used:
            return Refusal(f"OutOf{name}", _insufficient_text(name, requested, used, capacity))
    return None


def _amounts(demand: Demand, node: NodeState) -> Iterator[tuple[str, int, int, int]]:
    """(resource, requested, used, capacity) in the kubelet's order. Extended resources that the Node object does not
    list are not checked: they may be resources of the whole cluster. Resources that a device plugin has already given
    are not checked either, because the Node object may be older than the plugin. Huge pages are always checked: a node
    that does not list a size has none of it."""
    extended = node.object.extended if node.object is not None else {}
    allocatable = {**{name: extended[name] for name in extended.keys() - demand.served}, **node.allocatable}
    yield "pods", 1, node.usage.pods, allocatable["pods"]
    others = sorted(
        name for name in demand.requests if name not in _ALWAYS_CHECKED and (name in allocatable or is_huge_pages(name))
    )
    for name in (*_ALWAYS_CHECKED, *others):
        yield name, demand.requests.get(name, 0), node.usage.requests.get(name, 0), allocatable.get(name, 0)


def _insufficient_text(name: str, requested: int, used: int, capacity: int) -> str:
    return f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"


CHECK: Final = AdmissionCheck(50, insufficient_resource, of_resources=True)
