"""Looks up the pods that callers name, at the status manager."""

from __future__ import annotations

import msgspec

from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import container_statuses
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus

from .handler import ServerHandler
from .http_error import HttpError


class FoundPod(msgspec.Struct, frozen=True):
    pod: Pod
    status: PodStatus
    uid: str
    """The agent's UID of the pod; `pod` has the UID of the mirror of a static pod."""


async def find_pod(handler: ServerHandler, namespace: str, name: str) -> FoundPod | None:
    """The pod; None: this node has no such pod. Raises HttpError."""
    found = await handler.ask(STATUS_MANAGER, GetPodStatus(namespace=namespace, name=name))
    if not found.pod:
        return None
    try:
        return FoundPod(decode(found.pod, Pod), decode(found.status or b"{}", PodStatus), found.uid)
    except ObjectError as error:
        raise HttpError(500, str(error)) from None


def running_container(status: PodStatus, name: str) -> str:
    """The runtime's ID of the container if it is running, else ''."""
    for one in container_statuses(status):
        if one.name == name and one.state.running is not None:
            return one.containerID.partition("://")[2]
    return ""
