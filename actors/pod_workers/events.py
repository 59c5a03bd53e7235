"""What users are told of a pod and its containers. Pure."""

from __future__ import annotations

from typing import Literal

from actors.api_clients.messages import RecordEvent
from actors.kube.pod import Pod

EVENT_CLIENT = "api_clients/event_client"
MAX_TEXT = 1024


def pod_event(pod: Pod, kind: Literal["Normal", "Warning"], reason: str, text: str, container: str = "") -> RecordEvent:
    """An event of the pod, or of one of its containers."""
    return RecordEvent(
        kind="Pod",
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        type=kind,
        reason=reason,
        message=text[:MAX_TEXT],
        field=field_of(pod, container) if container else "",
    )


def field_of(pod: Pod, container: str) -> str:
    """Where in the pod the container is."""
    if any(one.name == container for one in pod.spec.initContainers):
        return f"spec.initContainers{{{container}}}"
    if any(one.name == container for one in pod.spec.ephemeralContainers):
        return f"spec.ephemeralContainers{{{container}}}"
    return f"spec.containers{{{container}}}"
