"""A container's environment: literal values, `$(NAME)`, and the downward API. Pure.

What needs the API server (config maps, secrets, services) comes with the cluster; until then a required reference is
an error of the container's configuration, and an optional one is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import msgspec

from actors.kube.container import Container, EnvVar
from actors.kube.meta import ResourceFieldSelector
from actors.kube.pod import Pod
from actors.kube.pods import find_container
from actors.kube.quantity import ceil, parse

from .expansion import expand

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]\Z")


class ConfigError(Exception):
    """The container cannot be made as its pod says (waiting reason CreateContainerConfigError)."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What the downward API tells of the pod besides its object."""

    node_name: str
    host_ips: list[str] = []
    pod_ips: list[str] = []
    allocatable: dict[str, int] = {}
    """Of the node: cpu in thousandths, the rest in bytes; a missing limit becomes this."""


def environment(pod: Pod, container: Container, place: Place) -> dict[str, str]:
    """Name to value, in order; a later one of the same name wins. Raises ConfigError."""
    for source in container.envFrom:
        reference = source.configMapRef or source.secretRef
        if reference is not None and not reference.optional:
            kind = "configmap" if source.configMapRef else "secret"
            raise ConfigError(f'{kind} "{reference.name}" not found: no API server is joined')
    found: dict[str, str] = {}
    for variable in container.env:
        value = _value(pod, container, variable, place, found)
        if value is not None:
            found[variable.name] = value
    return found


def _value(pod: Pod, container: Container, variable: EnvVar, place: Place, so_far: Mapping[str, str]) -> str | None:
    source = variable.valueFrom
    if source is None:
        return expand(variable.value, so_far)
    if source.fieldRef is not None:
        return field(pod, source.fieldRef.fieldPath, place)
    if source.resourceFieldRef is not None:
        return resource_field(pod, container, source.resourceFieldRef, place)
    for kind, reference in (("configmap", source.configMapKeyRef), ("secret", source.secretKeyRef)):
        if reference is not None:
            if reference.optional:
                return None
            raise ConfigError(f'{kind} "{reference.name}" not found: no API server is joined')
    raise ConfigError(f"env {variable.name}: this kind of valueFrom is not supported")


def field(pod: Pod, path: str, place: Place) -> str:
    """A field of the pod by its path, as the downward API names it. Raises ConfigError."""
    match = _SUBSCRIPT.match(path)
    if match:
        group = pod.metadata.labels if match[1] == "labels" else pod.metadata.annotations
        return group.get(match[2], "")
    values = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.nodeName or place.node_name,
        "spec.serviceAccountName": pod.spec.serviceAccountName,
        "status.hostIP": place.host_ips[0] if place.host_ips else "",
        "status.hostIPs": ",".join(place.host_ips),
        "status.podIP": place.pod_ips[0] if place.pod_ips else "",
        "status.podIPs": ",".join(place.pod_ips),
    }
    if path not in values:
        raise ConfigError(f"unsupported fieldPath: {path}")
    return values[path]


def resource_field(pod: Pod, container: Container, selector: ResourceFieldSelector, place: Place) -> str:
    """A request or limit divided by the divisor and rounded up; a missing limit is what the node has."""
    target = find_container(pod, selector.containerName) if selector.containerName else container
    if target is None:
        raise ConfigError(f"resourceFieldRef: container {selector.containerName} not found")
    kind, _, resource = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not resource:
        raise ConfigError(f"unsupported container resource: {selector.resource}")
    limits, requests = target.resources.limits, target.resources.requests
    quantity = (requests if kind == "requests" else limits).get(resource)
    if quantity is None and kind == "requests":
        quantity = limits.get(resource)
    if quantity is not None:
        value = parse(quantity)
    elif kind == "limits":
        value = Fraction(place.allocatable.get(resource, 0), 1000 if resource == "cpu" else 1)
    else:
        value = Fraction(0)
    divisor = parse(selector.divisor) if selector.divisor else Fraction(1)
    return str(ceil(value / (divisor or Fraction(1))))
