"""The files of a downwardAPI volume, from the pod's own fields (API doc, Downward API). Pure.

Only metadata fields and resources of containers can be in a volume.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from actors.shared.kube.go_text import quoted
from actors.shared.kube.meta import ObjectFieldSelector, ResourceFieldSelector
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.shared.kube.resource_fields import ResourceFieldError, resource_field
from actors.shared.kube.volumes import DownwardAPIVolumeSource

DEFAULT_MODE: Final = 0o644
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")


class DownwardError(ValueError):
    """A field that a downwardAPI volume cannot contain."""


class File(msgspec.Struct, frozen=True):
    path: str
    data: bytes
    mode: int
    owner: int | None = None
    """A user's id; None: the agent's."""


def files(pod: Pod, source: DownwardAPIVolumeSource, allocatable: Mapping[str, int]) -> list[File]:
    """`allocatable`: the node's, by resource; replaces a container's missing limit. Raises DownwardError."""
    default = DEFAULT_MODE if source.defaultMode is None else source.defaultMode
    found = []
    for item in source.items:
        if item.fieldRef is not None:
            text = field(pod, item.fieldRef)
        elif item.resourceFieldRef is not None:
            text = resource(pod, item.resourceFieldRef, allocatable)
        else:
            raise DownwardError(f"{item.path}: neither fieldRef nor resourceFieldRef")
        found.append(File(item.path, text.encode(), default if item.mode is None else item.mode))
    return found


def field(pod: Pod, selector: ObjectFieldSelector) -> str:
    """Raises DownwardError."""
    meta, path = pod.metadata, selector.fieldPath
    plain = {"metadata.name": meta.name, "metadata.namespace": meta.namespace, "metadata.uid": meta.uid}
    if path in plain:
        return plain[path]
    if path in {"metadata.labels", "metadata.annotations"}:
        return lines(meta.labels if path.endswith("labels") else meta.annotations)
    match = _KEYED.match(path)
    if match is None:
        raise DownwardError(f"fieldPath {path!r} cannot be in a volume")
    return (meta.labels if match.group(1) == "labels" else meta.annotations).get(match.group(2), "")


def lines(pairs: Mapping[str, str]) -> str:
    """A `key="value"` on each line, sorted, with the escapes of a quoted Go string."""
    return "\n".join(f"{key}={quoted(value)}" for key, value in sorted(pairs.items()))


def resource(pod: Pod, selector: ResourceFieldSelector, allocatable: Mapping[str, int]) -> str:
    """A container's limit or request, in units of the divisor, rounded up. Raises DownwardError."""
    container = find_container(pod, selector.containerName)
    if container is None:
        raise DownwardError(f"container {selector.containerName} not found")
    try:
        return resource_field(pod, container, selector, allocatable)
    except ResourceFieldError as error:
        raise DownwardError(str(error)) from None
