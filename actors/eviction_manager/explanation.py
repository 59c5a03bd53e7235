"""Message and annotations of an eviction, in the kubelet's wording. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.shared.config.fields.eviction import Threshold
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import quantity_value
from actors.shared.kube.quantity_text import binary, canonical, decimal

from .resources import RESOURCE_OF
from .thresholds import SignalObservation
from .usage import ContainerUsage, PodUsage


class Explanation(msgspec.Struct, frozen=True):
    """Why a pod is evicted."""

    message: str
    annotations: dict[str, str] = {}
    """Annotations of the event."""


def explain(
    pod: Pod, usage: PodUsage | None, threshold: Threshold, observation: SignalObservation | None
) -> Explanation:
    """Names the containers (with pod-level memory, the pod too) that use more than they request.

    As in the kubelet, the event of a pod without usage figures has no annotations, and where no container is named the
    annotations are there, empty.
    """
    resource = RESOURCE_OF[threshold.signal]
    parts = [f"The node was low on resource: {resource}. "]
    if observation is not None:
        parts.append(_quantities(resource, threshold, observation))
    if usage is None:
        return Explanation("".join(parts))
    annotations = {"starved_resource": resource}
    parts += _of_pod(pod, usage, resource, annotations)
    parts += _of_containers(pod, usage, resource, annotations)
    return Explanation("".join(parts), annotations)


def _quantities(resource: str, threshold: Threshold, observation: SignalObservation) -> str:
    quantity = threshold.amount.written
    amount = canonical(quantity) if quantity else binary(threshold.amount.of(observation.capacity))
    in_bytes = resource in ("memory", "ephemeral-storage")
    available = binary(observation.available) if in_bytes else decimal(observation.available)
    return f"Threshold quantity: {amount}, available: {available}. "


def _of_pod(pod: Pod, usage: PodUsage, resource: str, annotations: dict[str, str]) -> list[str]:
    """The part on a pod with pod-level memory (KEP-2837)."""
    requested = _request(pod.spec.resources, resource) if pod.spec.resources is not None else None
    if resource != "memory" or requested is None or usage.memory is None or usage.memory <= quantity_value(requested):
        return []
    used = binary(usage.memory)
    annotations |= {"offending_pod": pod.metadata.name, "offending_pod_usage": used}
    return [_larger("Pod", pod.metadata.name, used, requested, resource)]


def _of_containers(pod: Pod, usage: PodUsage, resource: str, annotations: dict[str, str]) -> list[str]:
    parts, names, amounts = [], [], []
    for container in (*pod.spec.containers, *pod.spec.initContainers):
        used, requested = _usage_of(usage.containers, container, resource), _request(container.resources, resource) or 0
        if used is None or used <= quantity_value(requested):
            continue
        parts.append(_larger("Container", container.name, binary(used), requested, resource))
        names.append(container.name)
        amounts.append(binary(used))
    annotations |= {"offending_containers": ",".join(names), "offending_containers_usage": ",".join(amounts)}
    return parts


def _larger(kind: str, name: str, used: str, requested: Quantity, resource: str) -> str:
    text = f"{kind} {name} was using {used}, request is {canonical(requested)}"
    return f"{text}, has larger consumption of {resource}. "


def _usage_of(known: Mapping[str, ContainerUsage], container: Container, resource: str) -> int | None:
    usage = known.get(container.name)
    if usage is None:
        return None
    if resource == "memory":
        return usage.memory
    return usage.rootfs.bytes + usage.logs.bytes if resource == "ephemeral-storage" else None


def _request(resources: ResourceRequirements, resource: str) -> Quantity | None:
    return {**resources.limits, **resources.requests}.get(resource)
