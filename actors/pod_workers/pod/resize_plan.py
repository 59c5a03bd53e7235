"""Plans a resize (KEP-1287): which containers differ from their allocated resources, and how each gets them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from actors.container_manager.messages import ActuatedContainer
from actors.pod_workers.containers import allocation
from actors.shared.cri.model import CriContainer, is_running
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError, milli
from actors.shared.pod_records import POD_LEVEL, RESIZABLE

from .state import PodState


def outdated(state: PodState) -> list[tuple[Container, CriContainer, list[str]]]:
    """Running containers that differ from their allocated resources, with the differing ones of cpu and memory."""
    if state.resizing.allocated is None:
        return []
    found = []
    for container, instance in _running_containers(state):
        names = allocation.resized(resources_of(state, container, instance), container.resources)
        if names:
            found.append((container, instance, names))
    return found


def unconfirmed(state: PodState) -> list[tuple[Container, CriContainer, list[str]]]:
    """Running containers whose resources are not known after an interrupted resize, and which resources may differ."""
    return [(*one, list(RESIZABLE)) for one in _running_containers(state)] if state.resizing.unconfirmed else []


def with_limits_of_pod(state: PodState) -> list[tuple[Container, CriContainer, list[str]]]:
    """Running containers without a limit of their own for cpu or memory, to which the pod's limit applies (KEP-2837),
    and for which of the two."""
    pod = state.wanted.pod
    given = pod.spec.resources.limits if pod is not None and pod.spec.resources is not None else {}
    found = []
    for container, instance in _running_containers(state):
        names = [name for name in RESIZABLE if name in given and name not in container.resources.limits]
        if names:
            found.append((container, instance, names))
    return found


def restarted_by_limits_of_pod(state: PodState) -> list[tuple[Container, CriContainer]]:
    """Running containers without a limit of their own, to which a changed limit of the pod applies, and whose policy
    requires a restart for that resource."""
    none = ResourceRequirements()
    before = actuated_pod_level(state) or none
    after = (state.resizing.allocated or {}).get(POD_LEVEL, none)
    changed = allocation.resized(ResourceRequirements(limits=before.limits), ResourceRequirements(limits=after.limits))
    return [
        (container, instance)
        for container, instance in _running_containers(state)
        if by_restart(container, [name for name in changed if name not in container.resources.limits])
    ]


def _running_containers(state: PodState) -> Iterator[tuple[Container, CriContainer]]:
    """The running init containers (KEP-1287; since 1.36 also those that are not sidecars) and regular containers."""
    pod, runtime = state.wanted.pod, state.runtime
    if pod is None or runtime is None:
        return
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        instance = runtime.newest(container.name)
        if instance is not None and is_running(instance):
            yield container, instance


def resources_of(state: PodState, container: Container, instance: CriContainer) -> ResourceRequirements:
    """The resources of this instance."""
    known = state.resizing.actuated
    return known.get(instance.id) or allocation.made_with(instance) or known.get(container.name) or container.resources


def actuated(state: PodState) -> dict[str, ActuatedContainer]:
    """The resources of the running containers, by name."""
    return {
        container.name: ActuatedContainer(instance.id, resources_of(state, container, instance))
        for container, instance in _running_containers(state)
    }


def actuated_pod_level(state: PodState) -> ResourceRequirements | None:
    """The pod-level resources that are in force. None: the pod has none."""
    return state.resizing.actuated.get(POD_LEVEL) or (state.resizing.allocated or {}).get(POD_LEVEL)


def transitional(state: PodState) -> dict[str, ResourceRequirements]:
    """The current resources that differ from the allocated ones, by the names of containers and by POD_LEVEL."""
    found = {container.name: resources_of(state, container, instance) for container, instance, _ in outdated(state)}
    current, allocated = state.resizing.actuated.get(POD_LEVEL), (state.resizing.allocated or {}).get(POD_LEVEL)
    if current is not None and allocation.resized(current, allocated or ResourceRequirements()):
        found[POD_LEVEL] = current
    return found


def changes(before: Pod, after: Pod) -> Iterator[tuple[str, str, str]]:
    """(resource, requirement, operation) of each amount that differs: `cpu`, `limits`, `increase`."""
    old, new, none = allocation.of(before), allocation.of(after), ResourceRequirements()
    for one in (*after.spec.initContainers, *after.spec.containers):
        first, second = old.get(one.name, none), new.get(one.name, none)
        for requirement, had, has in (
            ("requests", first.requests, second.requests),
            ("limits", first.limits, second.limits),
        ):
            for resource in RESIZABLE:
                operation = _operation(had.get(resource), has.get(resource))
                if operation:
                    yield resource, requirement, operation


def _operation(before: Quantity | None, after: Quantity | None) -> str:
    """add, remove, increase or decrease; empty if nothing changes, or an amount cannot be read."""
    if before is None or after is None:
        return "" if before is after else "add" if before is None else "remove"
    try:
        less, more = milli(before), milli(after)
    except QuantityError:
        return ""
    return "" if less == more else "increase" if less < more else "decrease"


def by_restart(container: Container, names: list[str]) -> bool:
    """Whether the container's policy requires a restart for these resources."""
    policies = {each.resourceName: each.restartPolicy for each in container.resizePolicy}
    return any(policies.get(name) == "RestartContainer" for name in names)


def summary(pod: Pod, error: str = "", generation: int = 0) -> str:
    """The resources of a resize as JSON, for its events. `generation`: of its request; 0: the pod's."""
    found: dict[str, object] = {}
    groups = {"initContainers": pod.spec.initContainers, "containers": pod.spec.containers}
    for name, containers in groups.items():
        if containers:
            found[name] = [{"name": one.name, "resources": one.resources} for one in containers]
    found["generation"] = generation or pod.metadata.generation
    if error:
        found["error"] = error
    return encode(found).decode()


def swaps(given: Pod, desired: Pod, may_swap: Callable[[Pod, str], bool]) -> bool:
    """Whether a container that may swap, now or afterwards, would request other memory in place: its swap limit
    follows its request. As in the kubelet, another limit alone is no obstacle."""
    before = {one.name: one for one in (*given.spec.initContainers, *given.spec.containers)}
    return any(
        container.name in before
        and "memory" in allocation.resized(_requests(before[container.name]), _requests(container))
        and not by_restart(container, ["memory"])
        and (may_swap(given, container.name) or may_swap(desired, container.name))
        for container in (*desired.spec.initContainers, *desired.spec.containers)
    )


def _requests(container: Container) -> ResourceRequirements:
    """The requests alone; a limit replaces a missing one, as in API defaulting."""
    return ResourceRequirements(requests={**container.resources.limits, **container.resources.requests})
