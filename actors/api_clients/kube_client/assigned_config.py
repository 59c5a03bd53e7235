"""The ConfigMap that a node's annotation assigns to it (feature gate DynamicKubeletConfig). Pure.

The kubelet had this as `node.spec.configSource` until 1.24; nodes no longer have that field, so it is an annotation.
"""

from __future__ import annotations

from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef, ObjectState
from actors.config_controller.messages import ConfigMapAssigned

ANNOTATION: Final = "troupelet.io/kubelet-config"
"""`namespace/name` or `namespace/name/key`."""
DEFAULT_KEY: Final = "kubelet"


class Assignment(msgspec.Struct, frozen=True):
    ref: ObjectRef
    key: str = DEFAULT_KEY


class _Meta(msgspec.Struct):
    uid: str = ""
    resourceVersion: str = ""


class _ConfigMap(msgspec.Struct):
    metadata: _Meta
    data: dict[str, str] | None = None


def assignment(annotations: dict[str, str]) -> Assignment | None:
    """None: there is none. Raises ValueError when the annotation is not of its form."""
    text = annotations.get(ANNOTATION, "")
    if not text:
        return None
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"annotation {ANNOTATION}: {text[:100]!r} is not namespace/name or namespace/name/key")
    return Assignment(ObjectRef("ConfigMap", parts[1], parts[0]), *parts[2:])


def assigned(found: Assignment, state: ObjectState) -> ConfigMapAssigned:
    """The message for the config_controller. Raises ValueError when the ConfigMap is missing, or lacks the key."""
    where = f"ConfigMap {found.ref.namespace}/{found.ref.name}"
    if not state.body:
        raise ValueError(f"{where}: {state.reason}: {state.message}")
    read = msgspec.json.decode(state.body, type=_ConfigMap)
    content = (read.data or {}).get(found.key)
    if not content:
        raise ValueError(f"{where} has no data under the key {found.key!r}")
    return ConfigMapAssigned(
        namespace=found.ref.namespace,
        name=found.ref.name,
        uid=read.metadata.uid,
        resource_version=read.metadata.resourceVersion,
        key=found.key,
        data=content.encode(),
    )
