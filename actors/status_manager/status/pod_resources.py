"""The resources of a pod as a whole in its status: those allocated, and those applied (KEP-5419). Pure.

A pod without pod-level resources has the sum of its containers, with its overhead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, limits_with_overhead, pod_requests, with_resources
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.quantity_text import written
from actors.shared.pod_records import POD_LEVEL

from ..containers.container_resources import MIN_LIMIT_MILLI, MIN_REQUEST_MILLI


def allocated(pod: Pod) -> dict[str, Quantity]:
    """The requests with which the node has admitted the pod. None if one of them is not a quantity: it was not
    admitted."""
    try:
        return _allocated_requests(pod)
    except QuantityError:
        return {}


def applied(pod: Pod, phase: str, actual: Mapping[str, ResourceRequirements]) -> ResourceRequirements | None:
    """While the pod runs, its CPU and memory and its pod-level resources; else all its resources, empty if it has none.
    None: one of them is not a quantity. As in the kubelet, a container without a limit takes no limit away here, though
    the pod's cgroup then has none.

    `actual`: as PodObserved.actual_resources.
    """
    try:
        return _applied_resources(_with_actual(pod, actual), phase)
    except QuantityError:
        return None


def _allocated_requests(pod: Pod) -> dict[str, Quantity]:
    return _texts(pod_requests(pod), [each.requests for each in _given_resources(pod)])


def _applied_resources(pod: Pod, phase: str) -> ResourceRequirements:
    limits, requests = limits_with_overhead(pod), pod_requests(pod)
    if phase == "Running":
        own = pod.spec.resources or ResourceRequirements()
        limits, requests = _of_cgroup(limits, own.limits), _of_cgroup(requests, own.requests)
        limits = _without_tiny_cpu(limits, own.limits, MIN_LIMIT_MILLI)
        requests = _without_tiny_cpu(requests, own.requests, MIN_REQUEST_MILLI)
    return ResourceRequirements(
        requests=_texts(requests, [each.requests for each in _given_resources(pod)]),
        limits=_texts(limits, [each.limits for each in _given_resources(pod)]),
    )


def _with_actual(pod: Pod, actual: Mapping[str, ResourceRequirements]) -> Pod:
    if not actual:
        return pod
    of_pod = actual.get(POD_LEVEL, pod.spec.resources)
    return with_resources(pod, lambda one: actual.get(one.name, one.resources), of_pod)


def _of_cgroup(amounts: dict[str, int], own: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: value for name, value in amounts.items() if name in ("cpu", "memory") or name in own}


def _without_tiny_cpu(amounts: dict[str, int], own: Mapping[str, Quantity], least_milli: int) -> dict[str, int]:
    """The resources, without CPU at or below the kernel's minimum, unless the pod itself requests it."""
    tiny = "cpu" not in own and amounts.get("cpu", 0) <= least_milli
    return {name: value for name, value in amounts.items() if value and not (tiny and name == "cpu")}


def _given_resources(pod: Pod) -> Iterator[ResourceRequirements]:
    if pod.spec.resources is not None:
        yield pod.spec.resources
    for container in (*pod.spec.containers, *pod.spec.initContainers):
        yield container.resources


def _texts(amounts: Mapping[str, int], given: list[dict[str, Quantity]]) -> dict[str, Quantity]:
    """Each amount, in the notation of the spec if the spec has the same amount."""
    return {name: _text(name, value, [each[name] for each in given if name in each]) for name, value in amounts.items()}


def _text(name: str, value: int, given: list[Quantity]) -> Quantity:
    return next((text for text in given if amount(name, text) == value), written(name, value))
