"""The PersistentVolumes that a pod's claims are bound to, as the API server has them.

What was found is kept on disk beside the pod's volumes: a running pod does not depend on the API server.
"""

from __future__ import annotations

import os
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from actors.api_clients.messages import KUBE_CLIENT, ApiCall
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import used_volumes
from actors.shared.kube.volumes import PersistentVolume, PersistentVolumeClaim, Volume
from actors.volume_manager.layout import PLUGINS
from supervision.actor import Actor, AskError
from supervision.errors import UNREADABLE
from supervision.state_file import write_private

from .claims import (
    ClaimedVolume,
    ClaimError,
    check_claim,
    check_persistent_volume,
    claim_error,
    claim_name,
    claimed_volume,
)

CALL_SECONDS: Final = 12.0
_FILE: Final = "persistent_volumes.json"

T = TypeVar("T", bound=Api)


class Unanswered(ClaimError):
    """The API server does not answer now."""


class ClaimLookup:
    """Asks through `actor`."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    async def find(self, pod: Pod, pod_dir: str) -> dict[str, ClaimedVolume | str]:
        """By name each claim that some container of the pod uses, or the text of the error."""
        used = used_volumes(pod)
        claims = [volume for volume in pod.spec.volumes if volume.name in used and claim_name(pod, volume)]
        if not claims:
            return {}
        kept = _read(pod_dir)
        found: dict[str, ClaimedVolume | str] = {}
        for volume in claims:
            try:
                persistent = await self._bound_to(pod, volume)
            except ClaimError as error:
                known = kept.get(volume.name) if isinstance(error, Unanswered) else None
                found[volume.name] = claimed_volume(pod, volume, known) if known else claim_error(pod, volume, error)
            else:
                found[volume.name] = claimed_volume(pod, volume, persistent)
        good = {name: one.persistent for name, one in found.items() if isinstance(one, ClaimedVolume)}
        if good != kept:
            _write(pod_dir, good)
        return found

    async def _bound_to(self, pod: Pod, volume: Volume) -> PersistentVolume:
        namespace, name = pod.metadata.namespace, claim_name(pod, volume)
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/persistentvolumeclaims/{quote(name, safe='')}"
        claim = await self._get(path, PersistentVolumeClaim, "PVC", f'persistentvolumeclaims "{name}"')
        check_claim(pod, volume, claim)
        name = claim.spec.volumeName
        path = f"/api/v1/persistentvolumes/{quote(name, safe='')}"
        persistent = await self._get(path, PersistentVolume, f"PV {name}", f'persistentvolumes "{name}"')
        check_persistent_volume(claim, persistent)
        return persistent

    async def _get(self, path: str, kind: type[T], label: str, what: str) -> T:
        failed = f"failed to fetch {label} from API server"
        try:
            answer = await self._actor.ask(KUBE_CLIENT, ApiCall(method="GET", path=path), timeout=CALL_SECONDS)
        except AskError as error:
            raise Unanswered(f"{failed}: {what}: {error}") from None
        if answer.reason == "NotFound":
            raise ClaimError(f"{failed}: {what} not found")
        if not answer.ok:
            raise Unanswered(f"{failed}: {what}: {answer.reason}: {answer.message}")
        try:
            return decode(answer.body, kind)
        except ObjectError as error:
            raise ClaimError(f"{what} cannot be read: {error}") from None


def _read(pod_dir: str) -> dict[str, PersistentVolume]:
    try:
        with open(f"{pod_dir}/{PLUGINS}/{_FILE}", "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, PersistentVolume])
    except (OSError, *UNREADABLE):
        return {}


def _write(pod_dir: str, found: dict[str, PersistentVolume]) -> None:
    folder = f"{pod_dir}/{PLUGINS}"
    os.makedirs(folder, 0o750, exist_ok=True)
    write_private(f"{folder}/{_FILE}", msgspec.json.encode(found), sync=False)
