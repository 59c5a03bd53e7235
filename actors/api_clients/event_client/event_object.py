"""An Event of core/v1, and the patch that increases the count of an existing one. Pure."""

from __future__ import annotations

from typing import Any, Final

from actors.api_clients.event_client.messages import RecordEvent
from actors.shared.kube.times import rfc3339

from .correlation import CorrelatedEvent

Json = dict[str, Any]
COMPONENT: Final = "kubelet"
PATCH_TYPE: Final = "application/strategic-merge-patch+json"


def namespace_of(content: RecordEvent) -> str:
    """The event's namespace: `default` for an object without one, such as a node."""
    return content.namespace or "default"


def event_object(event: CorrelatedEvent, host: str) -> Json:
    """`host` is the node's name."""
    content = event.content
    metadata: Json = {"name": event.event_name, "namespace": namespace_of(content)}
    if content.annotations:
        metadata["annotations"] = content.annotations
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": involved_object(content),
        "reason": content.reason,
        "message": content.message,
        "source": {"component": COMPONENT, "host": host},
        "firstTimestamp": rfc3339(event.first),
        "lastTimestamp": rfc3339(event.last),
        "count": event.count,
        "type": content.type,
        "eventTime": None,
        "reportingComponent": COMPONENT,
        "reportingInstance": host,
    }


def count_patch(event: CorrelatedEvent) -> Json:
    """The patch for an event that happened again."""
    return {"count": event.count, "lastTimestamp": rfc3339(event.last), "message": event.content.message}


def involved_object(content: RecordEvent) -> Json:
    """A node's UID is its name, as `kubectl describe node` looks for; with the version `kubectl events --for` does."""
    found = {"apiVersion": "v1", "kind": content.kind, "name": content.name, "uid": content.uid}
    if content.kind == "Node":
        return {**found, "uid": content.uid or content.name}
    found |= {"namespace": content.namespace}
    if content.field:
        found["fieldPath"] = content.field
    return found
