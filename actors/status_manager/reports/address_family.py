"""The event of a pod whose node has an address of another IP family than before. Pure."""

from __future__ import annotations

from actors.api_clients.event_client.messages import RecordEvent, pod_event

from ..pods.tracked_pod import TrackedPod


def family_event(before: TrackedPod, after: TrackedPod) -> RecordEvent | None:
    """The event of a changed family of status.hostIP; None when it has not changed."""
    old = before.status.hostIP if before.status is not None else ""
    new = after.status.hostIP if after.status is not None else ""
    if not old or not new or _family(old) == _family(new):
        return None
    text = (
        f"Kubelet detected an IPv{_family(old)} node IP ({old}), but the cloud provider selected an "
        f"IPv{_family(new)} node IP ({new}); pass an explicit `--node-ip` to kubelet to fix this."
    )
    return pod_event(after.pod.metadata, "Warning", "HostIPsIPFamilyMismatch", text)


def _family(address: str) -> int:
    return 6 if ":" in address else 4
