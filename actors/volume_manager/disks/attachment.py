"""Whether the attach controller has attached a disk to this node: a network disk is attached as soon as the
controller has written so to the node's status, which it does once it knows that no other node must have the disk."""

from __future__ import annotations

from urllib.parse import quote

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api
from actors.volume_manager.failure_texts import MountError

_NOT_IN_USE = "Volume has not been added to the list of VolumesInUse in the node's volume status"
_NOT_ATTACHED = "Volume not attached according to node status"


class _AttachedVolume(Api, frozen=True):
    name: str = ""


class _DiskNodeStatus(Api, frozen=True):
    volumesInUse: list[str] = []
    volumesAttached: list[_AttachedVolume] = []


class _DiskNode(Api, frozen=True):
    status: _DiskNodeStatus = _DiskNodeStatus()


def node_call(node: str) -> ApiCall:
    return ApiCall(method="GET", path=f"/api/v1/nodes/{quote(node, safe='')}")


def not_attached(answer: ApiAnswer, name: str) -> MountError | None:
    """Why the disk with this unique name may not be used yet; None: it may. `answer`: to `node_call`."""
    if not answer.ok:
        text = f"failed fetching node from API server: {answer.message or answer.reason or answer.status}"
        return MountError(f"VerifyControllerAttachedVolume {text}", waits=True)
    try:
        status = decode(answer.body, _DiskNode).status
    except ObjectError as error:
        return MountError(f"VerifyControllerAttachedVolume failed: the node cannot be read: {error}", waits=True)
    if name not in status.volumesInUse:
        return MountError(f"{_NOT_IN_USE}: {name}", waits=True)
    if name not in {volume.name for volume in status.volumesAttached}:
        return MountError(f"{_NOT_ATTACHED}: {name}", waits=True)
    return None
