"""A container's environment: services, objects of the API, literal values, `$(NAME)`, the downward API. Pure.

The order is the kubelet's: envFrom, then env, which may refer to earlier variables. Services never override these.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.container import Container, EnvVar, EnvVarSource
from actors.shared.kube.meta import FORMER_FIELDS, ResourceFieldSelector
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.resource_fields import ResourceFieldError, resource_field
from actors.shared.kube.variable_expansion import check_together, expand

from . import env_files
from .api_objects import Objects

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]\Z")
_NAME = re.compile(r"[ -<>-~]+\Z")
"""Names of variables: printable ASCII without `=` (KEP-4369)."""


class EnvContext(msgspec.Struct, frozen=True, kw_only=True):
    """The downward API's data that is not in the pod object."""

    node_name: str
    host_ips: list[str] = []
    pod_ips: list[str] = []
    allocatable: dict[str, int] = {}
    """The node's allocatable: cpu in thousandths, the rest in bytes. It replaces a missing limit."""
    files: env_files.Files = {}
    """The files of the pod's volumes to which variables refer."""


class Environment(msgspec.Struct, frozen=True):
    values: dict[str, str]
    """Name to value, in order."""
    skipped: list[str] = []
    """The keys of each object that are invalid variable names, for an event."""


def references(container: Container) -> list[ObjectRef]:
    """The objects to which the environment refers, without their namespace."""
    found: dict[ObjectRef, None] = {}
    for source in container.envFrom:
        if source.configMapRef is not None:
            found[ObjectRef("ConfigMap", source.configMapRef.name)] = None
        elif source.secretRef is not None:
            found[ObjectRef("Secret", source.secretRef.name)] = None
    for variable in container.env:
        chosen = variable.valueFrom
        if variable.value or chosen is None:
            continue
        if chosen.configMapKeyRef is not None:
            found[ObjectRef("ConfigMap", chosen.configMapKeyRef.name)] = None
        elif chosen.secretKeyRef is not None:
            found[ObjectRef("Secret", chosen.secretKeyRef.name)] = None
    return list(found)


def environment(pod: Pod, container: Container, context: EnvContext, objects: Objects | None = None) -> Environment:
    """`objects`: None without an API server. Raises ConfigError, ExpansionError."""
    objects = objects or Objects()
    skipped: list[str] = []
    found: dict[str, str] = {}
    length = 0
    for ref, prefix, optional in _whole_objects(pod, container):
        values = objects.texts(ref, optional=optional)
        length += sum(len(key) + len(value) for key, value in values.items())
        check_together(length)
        named = {prefix + key: value for key, value in values.items()}
        invalid = {name for name in named if not _NAME.match(name)}
        if invalid:
            skipped.append(_skipped_keys_text(ref, sorted(invalid)))
        found |= {name: value for name, value in named.items() if name not in invalid} if invalid else named
    for variable in container.env:
        value = _value(pod, container, variable, context, objects, ChainMap(found, objects.services))
        if value is not None:
            found[variable.name] = value
            length += len(value)
            check_together(length)
    return Environment(found | {name: value for name, value in objects.services.items() if name not in found}, skipped)


def _whole_objects(pod: Pod, container: Container) -> Iterator[tuple[ObjectRef, str, bool]]:
    for source in container.envFrom:
        if source.configMapRef is not None:
            ref = ObjectRef("ConfigMap", source.configMapRef.name, pod.metadata.namespace)
            yield ref, source.prefix, bool(source.configMapRef.optional)
        elif source.secretRef is not None:
            ref = ObjectRef("Secret", source.secretRef.name, pod.metadata.namespace)
            yield ref, source.prefix, bool(source.secretRef.optional)


def _skipped_keys_text(ref: ObjectRef, names: list[str]) -> str:
    kind = "configMap" if ref.kind == "ConfigMap" else "secret"
    return (
        f"Keys [{', '.join(names)}] from the EnvFrom {kind} {ref.namespace}/{ref.name} were skipped since they are "
        "considered invalid environment variable names."
    )


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    context: EnvContext,
    objects: Objects,
    so_far: Mapping[str, str],
) -> str | None:
    source = variable.valueFrom
    if variable.value or source is None:
        return expand(variable.value, so_far)
    if source.fieldRef is not None:
        return field(pod, source.fieldRef.fieldPath, context)
    if source.resourceFieldRef is not None:
        return _resource(pod, container, source.resourceFieldRef, context)
    if source.configMapKeyRef is not None or source.secretKeyRef is not None:
        return _key(pod, source, objects)
    if source.fileKeyRef is not None:
        return env_files.value(source.fileKeyRef, context.files)
    raise ConfigError(f"env {variable.name}: this kind of valueFrom is not supported")


def _key(pod: Pod, source: EnvVarSource, objects: Objects) -> str | None:
    """A key of an object; None if it is absent and optional."""
    kind: str = "ConfigMap" if source.configMapKeyRef is not None else "Secret"
    selector = source.configMapKeyRef or source.secretKeyRef
    assert selector is not None  # noqa: S101 - one of them is
    namespace, optional = pod.metadata.namespace, bool(selector.optional)
    ref = ObjectRef("ConfigMap" if kind == "ConfigMap" else "Secret", selector.name, namespace)
    value = objects.texts(ref, optional=optional).get(selector.key)
    if value is None and not optional:
        raise ConfigError(f"couldn't find key {selector.key} in {kind} {namespace}/{selector.name}")
    return value


def field(pod: Pod, path: str, context: EnvContext) -> str:
    """A field of the pod by its downward API path. Raises ConfigError."""
    match = _SUBSCRIPT.match(path)
    if match:
        group = pod.metadata.labels if match[1] == "labels" else pod.metadata.annotations
        return group.get(match[2], "")
    path = FORMER_FIELDS.get(path, path)
    values = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.nodeName or context.node_name,
        "spec.serviceAccountName": pod.spec.serviceAccountName,
        "status.hostIP": context.host_ips[0] if context.host_ips else "",
        "status.hostIPs": ",".join(context.host_ips),
        "status.podIP": context.pod_ips[0] if context.pod_ips else "",
        "status.podIPs": ",".join(context.pod_ips),
    }
    if path not in values:
        raise ConfigError(f"unsupported fieldPath: {path}")
    return values[path]


def _resource(pod: Pod, container: Container, selector: ResourceFieldSelector, context: EnvContext) -> str:
    """A container's resource for the downward API. Raises ConfigError."""
    target = find_container(pod, selector.containerName) if selector.containerName else container
    if target is None:
        raise ConfigError(f"container {selector.containerName} not found")
    try:
        return resource_field(pod, target, selector, context.allocatable)
    except (ResourceFieldError, QuantityError) as error:
        raise ConfigError(str(error)) from None
