"""An Event of core/v1, and the patch that counts one that is there. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from .correlation import Correlated, Happening

Json = dict[str, Any]
COMPONENT: Final = "kubelet"
PATCH_TYPE: Final = "application/strategic-merge-patch+json"


def namespace_of(happening: Happening) -> str:
    """Events of what has no namespace, as nodes, are kept in `default`."""
    return happening.namespace or "default"


def event_object(event: Correlated, host: str) -> Json:
    """`host` is the node's name."""
    happening = event.happening
    metadata: Json = {"name": event.event_name, "namespace": namespace_of(happening)}
    if happening.annotations:
        metadata["annotations"] = happening.annotations
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": involved_object(happening),
        "reason": happening.reason,
        "message": happening.message,
        "source": {"component": COMPONENT, "host": host},
        "firstTimestamp": rfc3339(event.first),
        "lastTimestamp": rfc3339(event.last),
        "count": event.count,
        "type": happening.type,
        "eventTime": None,
        "reportingComponent": COMPONENT,
        "reportingInstance": host,
    }


def count_patch(event: Correlated) -> Json:
    """For an event that has happened again."""
    return {"count": event.count, "lastTimestamp": rfc3339(event.last), "message": event.happening.message}


def involved_object(happening: Happening) -> Json:
    """A node is named by its name for UID, too, and without a version, as the reference does."""
    found = {"kind": happening.kind, "name": happening.name, "uid": happening.uid}
    if happening.kind == "Node":
        return {**found, "uid": happening.uid or happening.name}
    found |= {"apiVersion": "v1", "namespace": happening.namespace}
    if happening.field:
        found["fieldPath"] = happening.field
    return found


def rfc3339(seconds: float) -> str:
    """Whole seconds, UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
