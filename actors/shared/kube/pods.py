"""Properties that follow from the pod object alone: identity, QoS class, requests and limits, kinds of containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec.structs import replace

from .container import Container, ResourceRequirements
from .meta import Quantity
from .names import (
    CONFIG_MIRROR,
    CONFIG_SOURCE,
    SOURCE_API,
    SYSTEM_CRITICAL_PRIORITY,
)
from .pod import ContainerStatus, Pod, PodStatus
from .quantity import milli, quantity_value

QOS_CLASSES = ("Guaranteed", "Burstable", "BestEffort")
TERMINAL_PHASES = ("Succeeded", "Failed")
DEFAULT_GRACE_SECONDS = 30
"""The terminationGracePeriodSeconds of a pod that names none."""


def full_name(pod: Pod) -> str:
    """`name_namespace`, unique on a node at any time."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}"


def is_static(pod: Pod) -> bool:
    """Whether it came from a file or URL, not from the API server."""
    return pod.metadata.annotations.get(CONFIG_SOURCE, SOURCE_API) != SOURCE_API


def is_mirror(pod: Pod) -> bool:
    return CONFIG_MIRROR in pod.metadata.annotations


def is_critical(pod: Pod) -> bool:
    """Static, mirror, or of system priority: admitted first, never evicted."""
    return is_static(pod) or is_mirror(pod) or (pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY


class InitContainer(Protocol):
    """A Container, or the part of it that a reader decodes."""

    @property
    def restartPolicy(self) -> str | None: ...


def is_sidecar(init_container: InitContainer) -> bool:
    """Whether this init container keeps running (KEP-753)."""
    return init_container.restartPolicy == "Always"


def sidecars(pod: Pod) -> list[Container]:
    return [container for container in pod.spec.initContainers if is_sidecar(container)]


def has_sidecar(pod: Pod, name: str) -> bool:
    """Whether this container is a sidecar. A regular container with `restartPolicy: Always` (KEP-5307) is not one."""
    return any(container.name == name for container in sidecars(pod))


def all_containers(pod: Pod) -> Iterator[Container]:
    """Init, regular and ephemeral ones, in that order."""
    yield from pod.spec.initContainers
    yield from pod.spec.containers
    yield from pod.spec.ephemeralContainers


def with_resources(
    pod: Pod, of_container: Callable[[Container], ResourceRequirements], of_pod: ResourceRequirements | None
) -> Pod:
    """The pod with other resources: those of its init and regular containers, and its pod-level ones."""

    def each(containers: list[Container]) -> list[Container]:
        return [replace(one, resources=of_container(one)) for one in containers]

    spec = pod.spec
    changed = replace(
        spec, containers=each(spec.containers), initContainers=each(spec.initContainers), resources=of_pod
    )
    return replace(pod, spec=changed)


def container_field(pod: Pod, name: str) -> str:
    """The path of a container in the pod's object, as in events. A name that is not in the pod counts as a regular
    container."""
    groups = {"initContainers": pod.spec.initContainers, "ephemeralContainers": pod.spec.ephemeralContainers}
    kind = next((kind for kind, group in groups.items() if any(one.name == name for one in group)), "containers")
    return f"spec.{kind}{{{name}}}"


def used_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that a container mounts, uses as a device, or reads environment variables from."""
    found: set[str] = set()
    for container in all_containers(pod):
        found.update(mount.name for mount in container.volumeMounts)
        found.update(device.name for device in container.volumeDevices)
        keys = (variable.valueFrom.fileKeyRef for variable in container.env if variable.valueFrom is not None)
        found.update(key.volumeName for key in keys if key is not None)
    return frozenset(found)


def find_container(pod: Pod, name: str) -> Container | None:
    return next((container for container in all_containers(pod) if container.name == name), None)


def amount(resource: str, quantity: Quantity) -> int:
    """CPU in thousandths of a core, everything else in units or bytes."""
    return milli(quantity) if resource == "cpu" else quantity_value(quantity)


def container_requests(container: Container) -> dict[str, int]:
    """Requests by resource (see `amount`); a limit replaces a missing request, as in API defaulting."""
    merged = {**container.resources.limits, **container.resources.requests}
    return {resource: amount(resource, quantity) for resource, quantity in merged.items()}


def container_limits(container: Container) -> dict[str, int]:
    return {resource: amount(resource, quantity) for resource, quantity in container.resources.limits.items()}


def _sum(into: dict[str, int], more: dict[str, int]) -> None:
    for resource, value in more.items():
        into[resource] = into.get(resource, 0) + value


def _largest(into: dict[str, int], more: dict[str, int]) -> None:
    for resource, value in more.items():
        into[resource] = max(into.get(resource, 0), value)


def pod_requests(pod: Pod) -> dict[str, int]:
    """The pod's requests: its containers' requests, overridden by pod-level requests (KEP-2837), plus overhead."""
    needs = container_sum(pod)
    if pod.spec.resources is not None:
        merged = {**pod.spec.resources.limits, **pod.spec.resources.requests}
        needs.update({resource: amount(resource, quantity) for resource, quantity in merged.items()})
    _sum(needs, {resource: amount(resource, quantity) for resource, quantity in pod.spec.overhead.items()})
    return needs


def pod_limits(pod: Pod) -> dict[str, int]:
    """The pod's limits: its containers' limits, overridden by pod-level limits (KEP-2837), without overhead. A
    container without a limit does not reduce the pod's limits."""
    most = _together(pod, container_limits)
    if pod.spec.resources is not None:
        most |= {resource: amount(resource, quantity) for resource, quantity in pod.spec.resources.limits.items()}
    return most


def limits_with_overhead(pod: Pod) -> dict[str, int]:
    """The limits of `pod_limits` plus the overhead; a resource without a limit stays without one."""
    most = pod_limits(pod)
    for resource, quantity in pod.spec.overhead.items():
        if most.get(resource):
            most[resource] += amount(resource, quantity)
    return most


def cgroup_limits(pod: Pod) -> dict[str, int]:
    """The limits that the pod's cgroup can have: cpu and memory only if every container, or the pod itself, has one."""
    most = limits_with_overhead(pod)
    own = pod.spec.resources.limits if pod.spec.resources is not None else {}
    for resource in ("cpu", "memory"):
        every = (container_limits(each).get(resource) for each in (*pod.spec.initContainers, *pod.spec.containers))
        if resource not in own and not all(every):
            most.pop(resource, None)
    return most


def container_sum(pod: Pod) -> dict[str, int]:
    """The requests of all containers together."""
    return _together(pod, container_requests)


def _together(pod: Pod, amounts: Callable[[Container], dict[str, int]]) -> dict[str, int]:
    """The largest sum of containers that run at the same time: sidecars count with later init containers and with the
    regular ones (KEP-753)."""
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.initContainers:
        needs = amounts(container)
        if is_sidecar(container):
            _sum(running, needs)
            _largest(peak, running)
        else:
            step = dict(running)
            _sum(step, needs)
            _largest(peak, step)
    for container in pod.spec.containers:
        _sum(running, amounts(container))
    _largest(running, peak)
    return running


def qos_class(pod: Pod) -> str:
    """Guaranteed, Burstable or BestEffort (API doc, Quality of Service for Pods): by cpu and memory only."""
    if pod.status.qosClass in QOS_CLASSES:
        return pod.status.qosClass
    if pod.spec.resources is not None and (pod.spec.resources.limits or pod.spec.resources.requests):
        parts = [(pod.spec.resources.requests, pod.spec.resources.limits)]
    else:
        parts = [(c.resources.requests, c.resources.limits) for c in (*pod.spec.initContainers, *pod.spec.containers)]
    some, guaranteed = False, True
    for requests, limits in parts:
        for resource in ("cpu", "memory"):
            limit = amount(resource, limits[resource]) if resource in limits else 0
            request = amount(resource, requests[resource]) if resource in requests else limit
            some = some or limit > 0 or request > 0
            guaranteed = guaranteed and limit > 0 and limit == request
    if not some:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def grace_period(pod: Pod) -> int:
    """Seconds from the API deletion, else from the spec, else the default."""
    if pod.metadata.deletionGracePeriodSeconds is not None:
        return pod.metadata.deletionGracePeriodSeconds
    given = pod.spec.terminationGracePeriodSeconds
    return DEFAULT_GRACE_SECONDS if given is None else given


def container_statuses(status: PodStatus) -> Iterator[ContainerStatus]:
    """The statuses of all containers: ordinary, init and ephemeral ones."""
    yield from status.containerStatuses
    yield from status.initContainerStatuses
    yield from status.ephemeralContainerStatuses
