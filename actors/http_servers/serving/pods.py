"""The pods that callers name: looked up at the status manager."""

from __future__ import annotations

import msgspec

from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import container_statuses
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus

from .handler import Handler
from .refused import Refused


class FoundPod(msgspec.Struct, frozen=True):
    pod: Pod
    status: PodStatus
    uid: str
    """The agent's; of a static pod that of its mirror is in `pod`."""


async def find_pod(handler: Handler, namespace: str, name: str) -> FoundPod | None:
    """None: this node has no such pod. Raises Refused."""
    found = await handler.ask(STATUS_MANAGER, GetPodStatus(namespace=namespace, name=name))
    if not found.pod:
        return None
    try:
        return FoundPod(decode(found.pod, Pod), decode(found.status or b"{}", PodStatus), found.uid)
    except ObjectError as error:
        raise Refused(500, str(error)) from None


def running_container(status: PodStatus, name: str) -> str:
    """The runtime's id of the container while it runs, else ''."""
    for one in container_statuses(status):
        if one.name == name and one.state.running is not None:
            return one.containerID.partition("://")[2]
    return ""
