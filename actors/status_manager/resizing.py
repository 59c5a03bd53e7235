"""What a status says of a resize in place (KEP-1287), which this node does not carry out. Pure.

The resources of a container that runs stay those that it was made with, whatever its spec says by now; the condition
PodResizePending with the reason Infeasible says so, on which an autoscaler replaces the pod instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.cri.model import Container as Runtime
from actors.kube.container import Container, ResourceRequirements
from actors.kube.pod import ContainerStatus, Pod, PodCondition
from actors.kube.pods import is_sidecar, is_static
from actors.kube.quantity import QuantityError, parse

PENDING: Final = "PodResizePending"
CONDITIONS: Final = (PENDING, "PodResizeInProgress")
"""Those of the node: they go when they do not hold any more."""
_RESIZABLE: Final = ("cpu", "memory")


def resources_of(
    container: Container, newest: Runtime | None, before: ContainerStatus | None
) -> ResourceRequirements | None:
    """Those that this very container was made with, as far as they were reported; None: it has not been made."""
    if newest is None:
        return None
    same = before is not None and before.containerID.endswith(f"://{newest.id}")
    return (before.resources if same and before is not None else None) or container.resources


def conditions(pod: Pod, statuses: Mapping[str, ContainerStatus]) -> list[PodCondition]:
    """PodResizePending, while a container that runs was to have other resources than it has."""
    waiting = [each.name for each in _running(pod, statuses) if _differ(each, statuses[each.name])]
    if is_static(pod) or not waiting:
        return []
    text = f"in-place resize is not supported by this node: containers [{' '.join(waiting)}] keep what they have"
    return [PodCondition(type=PENDING, status="True", reason="Infeasible", message=text)]


def _running(pod: Pod, statuses: Mapping[str, ContainerStatus]) -> list[Container]:
    containers = [*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers]
    return [each for each in containers if (found := statuses.get(each.name)) and found.state.running is not None]


def _differ(container: Container, status: ContainerStatus) -> bool:
    has = status.resources
    return has is not None and _amounts(has) != _amounts(container.resources)


def _amounts(resources: ResourceRequirements) -> list[object]:
    """Of what can be resized; amounts that are written in two ways are the same."""
    listed = ((kind.get(name)) for kind in (resources.limits, resources.requests) for name in _RESIZABLE)
    return [_amount(each) for each in listed]


def _amount(quantity: object) -> object:
    try:
        return parse(quantity) if isinstance(quantity, str | int | float) else None
    except QuantityError:
        return quantity
