"""The API's rules for resources of containers and of pods (API reference, ResourceRequirements v1 core; KEP-2837,
KEP-1287)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from actors.shared.kube import formats
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.huge_pages import PREFIX, is_huge_pages
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, container_sum
from actors.shared.kube.quantity import QuantityError, parse

from .field_check import FieldCheck

_OF_PODS: Final = ("cpu", "memory")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")


def check_quantities(given: Mapping[str, Quantity], check: FieldCheck) -> dict[str, Fraction]:
    """The valid amounts by resource. An invalid or negative one is an error."""
    values: dict[str, Fraction] = {}
    for resource, quantity in given.items():
        where = check.item(resource)
        where.form(formats.qualified_name, resource)
        try:
            values[resource] = parse(quantity)
        except QuantityError:
            where.fail(f"{str(quantity)[:40]!r} is not a quantity, like 100m, 1.5 or 64Mi")
            continue
        if values[resource] < 0:
            where.fail("must not be negative")
    return values


def check_resources(resources: ResourceRequirements, check: FieldCheck) -> None:
    """Quantities are valid and not negative, and no request exceeds its limit."""
    limits = check_quantities(resources.limits, check.at("limits"))
    # a limit that is the default of its request has one problem
    own = {name: amount for name, amount in resources.requests.items() if resources.limits.get(name) != amount}
    requests = check_quantities(own, check.at("requests"))
    for resource, request in requests.items():
        if resource in limits and request > limits[resource]:
            check.at("requests").item(resource).fail(f"is above the limit {resources.limits[resource]}")


def check_container_resources(resources: ResourceRequirements, check: FieldCheck) -> None:
    """The same, and the rules for names, for whole numbers and for what no two pods can share."""
    check_resources(resources, check)
    own = {name: amount for name, amount in resources.requests.items() if resources.limits.get(name) != amount}
    for side, given in (("limits", resources.limits), ("requests", own)):
        for resource, quantity in given.items():
            if rule := _wrong_amount(resource, quantity):
                check.at(side).item(resource).fail(rule)
    for resource, quantity in own.items():
        limit = resources.limits.get(resource)
        if (_is_native(resource) and not is_huge_pages(resource)) or _are_equal(quantity, limit):
            continue
        text = "needs a limit, which is the same" if limit is None else f"must be equal to the limit {limit}"
        check.at("requests").item(resource).fail(text)
    named = {*resources.limits, *resources.requests}
    if any(map(is_huge_pages, named)) and named.isdisjoint(_OF_PODS):
        check.fail("huge pages need cpu or memory beside them")


def _are_equal(quantity: Quantity, limit: Quantity | None) -> bool:
    """Whether they are the same amount, like 1 and 1000m; an invalid one is an error of its own."""
    try:
        return limit is not None and parse(quantity) == parse(limit)
    except QuantityError:
        return True


def _is_native(resource: str) -> bool:
    """Whether it is a resource of Kubernetes' own."""
    return "/" not in resource or "kubernetes.io/" in resource


def _wrong_amount(resource: str, quantity: Quantity) -> str:
    """What is wrong with the name, or with a quantity of this name; '' for nothing."""
    if "/" not in resource and resource not in _STANDARD and not is_huge_pages(resource):
        return f"is none of {', '.join(_STANDARD)}, hugepages-<size> and resources with a domain, like example.com/gpu"
    if not _is_native(resource) and not is_extended(resource):
        return "is no name of an extended resource, like example.com/gpu"
    try:
        value = parse(quantity)
        if is_huge_pages(resource) and value % parse(resource.removeprefix(PREFIX)):
            return f"must be a multiple of {resource.removeprefix(PREFIX)}"
    except (QuantityError, ZeroDivisionError):
        return ""  # an error of its own
    return "must be a whole number" if is_extended(resource) and value.denominator != 1 else ""


def check_resize_policies(container: Container, pod_restarts: bool, check: FieldCheck) -> None:
    """`pod_restarts`: the restartPolicy of the pod is not Never."""
    check.at("resizePolicy").unique((one.resourceName for one in container.resizePolicy), "resourceName")
    for index, one in enumerate(container.resizePolicy):
        where = check.at("resizePolicy").item(index)
        if where.at("resourceName").required(one.resourceName):
            where.at("resourceName").one_of(one.resourceName, _OF_PODS)
        if where.at("restartPolicy").required(one.restartPolicy):
            where.at("restartPolicy").one_of(one.restartPolicy, ("NotRequired", "RestartContainer"))
        if one.restartPolicy == "RestartContainer" and not pod_restarts:
            where.at("restartPolicy").fail("must be NotRequired when the pod's restartPolicy is Never")


def check_pod_resources(pod: Pod, check: FieldCheck) -> None:
    """The pod requests at least what its containers request together, and no container has a limit above the pod's.

    Nothing is compared while a quantity is invalid, which is an error of its own field.
    """
    resources = pod.spec.resources
    if resources is None:
        return
    where = check.at("resources")
    for side, given in (("limits", resources.limits), ("requests", resources.requests)):
        for resource in given:
            if resource not in _OF_PODS and not is_huge_pages(resource):
                where.at(side).item(resource).fail("a pod can have cpu, memory and hugepages-<size>")
    try:
        _compare_with_containers(pod, resources, check)
    except QuantityError:
        return


def _compare_with_containers(pod: Pod, resources: ResourceRequirements, check: FieldCheck) -> None:
    together = container_sum(pod)
    for resource, quantity in resources.requests.items():
        if amount(resource, quantity) < together.get(resource, 0):
            check.at("resources.requests").item(resource).fail("is below what the containers request together")
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(getattr(pod.spec, kind)):
            for resource, limit in container.resources.limits.items():
                most = resources.limits.get(resource)
                if most is not None and amount(resource, limit) > amount(resource, most):
                    where = check.at(kind).item(index).at("resources.limits").item(resource)
                    where.fail(f"is above the pod's limit {most}")
