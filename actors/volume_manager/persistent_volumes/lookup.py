"""The PersistentVolumes that a pod's claims are bound to, from the API server.

They are saved beside the pod's volumes, so that a running pod does not depend on the API server.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import ApiCall, ObjectRef
from actors.shared.api.permission import when_permitted
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api, ObjectMeta
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import used_volumes
from actors.shared.kube.volumes import Volume
from actors.shared.stats.claimed_volumes import claims_file
from actors.volume_manager.csi.migration import MigrationError, migrated
from actors.volume_manager.tools.volume_objects import VolumeObjects
from supervision.errors import UNREADABLE, error_text
from supervision.state_file import NotAFileError, read_private, write_private

from .volume_claims import (
    ONE_POD,
    ClaimedVolume,
    UnusableVolume,
    UnusableVolumeError,
    VolumeClaimError,
    check_claim,
    check_node,
    check_persistent_volume,
    claim_error,
    claim_name,
    claimed_volume,
    in_use,
)

T = TypeVar("T", bound=Api)


class _Node(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class ApiUnavailable(VolumeClaimError):
    """The API server does not answer. The pod's saved volumes are used."""


class ClaimLookup:
    def __init__(self, api: VolumeObjects, node_name: str, pods_dir: str) -> None:
        self._api, self._node_name, self._pods_dir = api, node_name, pods_dir

    async def find(self, pod: Pod, pod_dir: str) -> dict[str, ClaimedVolume | UnusableVolume | str]:
        """Find the PersistentVolume of each claim that a container uses. Returns by volume: the PersistentVolume, why
        there is none, or the error."""
        used = used_volumes(pod)
        claims = [volume for volume in pod.spec.volumes if volume.name in used and claim_name(pod, volume)]
        if not claims:
            return {}
        try:
            return await self._find(pod, pod_dir, claims)
        except OSError as error:  # a disk that is full or cannot be read: no fault of the pod
            failed = VolumeClaimError(error_text(error))
            return {volume.name: claim_error(pod, claim_name(pod, volume), failed) for volume in claims}

    async def _find(
        self, pod: Pod, pod_dir: str, claims: Sequence[Volume]
    ) -> dict[str, ClaimedVolume | UnusableVolume | str]:
        """Raises OSError when what is saved cannot be read or written."""
        saved = _read(pod_dir)
        found: dict[str, ClaimedVolume | UnusableVolume | str] = {}
        for volume in claims:
            try:
                persistent = await self._bound_to(pod, volume, saved.get(volume.name))
            except UnusableVolumeError as error:
                found[volume.name] = error.unusable
            except VolumeClaimError as error:
                known = saved.get(volume.name) if isinstance(error, ApiUnavailable) else None
                text = claim_error(pod, claim_name(pod, volume), error)
                found[volume.name] = claimed_volume(pod, volume, known) if known else text
            else:
                found[volume.name] = claimed_volume(pod, volume, persistent)
        # a claim that is no longer found may still be mounted, and is then in use
        good = {name: one for name, one in saved.items() if name in found}
        good |= {name: one.persistent for name, one in found.items() if isinstance(one, ClaimedVolume)}
        if good != saved:
            _write(pod_dir, good)
        return found

    async def _bound_to(self, pod: Pod, volume: Volume, known: PersistentVolume | None) -> PersistentVolume:
        namespace, name = pod.metadata.namespace, claim_name(pod, volume)
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/persistentvolumeclaims/{quote(name, safe='')}"
        claim = await self._get(path, PersistentVolumeClaim, "PVC", f'persistentvolumeclaims "{name}"')
        check_claim(pod, volume, claim)
        name = claim.spec.volumeName
        path = f"/api/v1/persistentvolumes/{quote(name, safe='')}"
        persistent = await self._get(path, PersistentVolume, f"PV {name}", f'persistentvolumes "{name}"')
        check_persistent_volume(claim, persistent)
        try:
            persistent = migrated(persistent, namespace)
        except MigrationError as error:
            raise VolumeClaimError(f"failed to translate in-tree pv to CSI: {error}") from None
        if known is not None and known.metadata.name == persistent.metadata.name:
            return persistent  # checked before its mount; labels of the node may have changed since
        if persistent.spec.nodeAffinity is not None:
            check_node(persistent, self._node_name, await self._node_labels())
        if persistent.spec.accessModes == [ONE_POD] and self._used_by_another(pod.metadata.uid, name):
            raise in_use(persistent)
        return persistent

    async def _node_labels(self) -> dict[str, str]:
        """Raises ApiUnavailable."""
        state = await self._api.object(ObjectRef("Node", self._node_name))
        if not state.body:
            raise ApiUnavailable(f"failed to get labels of node {self._node_name}: {state.reason}: {state.message}")
        try:
            return decode(state.body, _Node).metadata.labels
        except ObjectError as error:
            raise VolumeClaimError(f"node {self._node_name} cannot be read: {error}") from None

    def _used_by_another(self, uid: str, name: str) -> bool:
        """Whether another pod of this node has a claim on the PersistentVolume. Raises OSError when that cannot be
        seen."""
        with os.scandir(self._pods_dir) as pods:
            others = [pod.path for pod in pods if pod.name != uid]
        return any(saved.metadata.name == name for path in others for saved in _read(path).values())

    async def _get(self, path: str, kind: type[T], label: str, what: str) -> T:
        failed = f"failed to fetch {label} from API server"
        answer = await when_permitted(lambda: self._api.call(ApiCall(method="GET", path=path)))
        if answer.reason == "NotFound":
            raise VolumeClaimError(f"{failed}: {what} not found")
        if not answer.ok:
            raise ApiUnavailable(f"{failed}: {what}: {answer.reason}: {answer.message}")
        try:
            return decode(answer.body, kind)
        except ObjectError as error:
            raise VolumeClaimError(f"{what} cannot be read: {error}") from None


def _read(pod_dir: str) -> dict[str, PersistentVolume]:
    """Empty if nothing is saved, or if it is damaged. Raises OSError when that cannot be seen."""
    try:
        return msgspec.json.decode(read_private(claims_file(pod_dir)), type=dict[str, PersistentVolume])
    except (FileNotFoundError, NotADirectoryError, NotAFileError, *UNREADABLE):
        return {}


def _write(pod_dir: str, found: dict[str, PersistentVolume]) -> None:
    path = claims_file(pod_dir)
    os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
    write_private(path, msgspec.json.encode(found), sync=False)
