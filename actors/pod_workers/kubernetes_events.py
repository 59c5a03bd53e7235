"""The Kubernetes events of a pod and its containers. Pure."""

from __future__ import annotations

from typing import Literal

from actors.api_clients.event_client import messages
from actors.api_clients.event_client.messages import RecordEvent
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_field


def pod_event(
    pod: Pod, kind: Literal["Normal", "Warning"], reason: str, text: str, container: str = "", instance: str = ""
) -> RecordEvent:
    """An event of the pod, or of one of its containers. `instance`: of RecordEvent."""
    field = container_field(pod, container) if container else ""
    return messages.pod_event(pod.metadata, kind, reason, text, field, instance)


def of_failed_start(reason: str, message: str) -> list[tuple[Literal["Normal", "Warning"], str, str]]:
    """Type, reason and text of the events for a container's waiting reason."""
    if reason == "ImagePullBackOff":
        return [("Normal", "BackOff", message), ("Warning", "Failed", f"Error: {reason}")]
    if reason in _IMAGE_REASONS:
        own = _IMAGE_REASONS[reason]
        return [("Warning", own, message), ("Warning", "Failed", f"Error: {reason}")]
    return [("Warning", "Failed", f"Error: {message}")]


_IMAGE_REASONS = {
    "ErrImagePull": "Failed",
    "RegistryUnavailable": "Failed",
    "SignatureValidationFailed": "Failed",
    "ErrImageNeverPull": "ErrImageNeverPull",
    "InvalidImageName": "InspectFailed",
    "ImageInspectError": "InspectFailed",
}
"""The reason of the event about the image."""
