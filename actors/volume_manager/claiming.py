"""Asks the API server for claims and their volumes. What was found is kept on disk, beside the pod's volumes: a pod
that runs needs no API server to go on."""

from __future__ import annotations

import os
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from actors.api_clients.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import Volume
from supervision.actor import Actor, AskError
from supervision.errors import UNREADABLE

from .claims import Claim, ClaimError, Found, PersistentVolume, check_claim, claim_name, judge_volume
from .layout import PLUGINS

CALL_SECONDS: Final = 12.0
_FILE: Final = "claims.json"

T = TypeVar("T", bound=Api)


class Unanswered(ClaimError):
    """The API server cannot be asked now."""


class Claiming:
    """For the volume manager."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    async def find(self, pod: Pod, pod_dir: str) -> dict[str, Found | str]:
        """For each volume that is a claim: what it stands for, or the error's text."""
        wanted = [volume for volume in pod.spec.volumes if claim_name(pod, volume)]
        if not wanted:
            return {}
        kept = _read(pod_dir)
        found: dict[str, Found | str] = {}
        for volume in wanted:
            try:
                found[volume.name] = await self._one(pod, volume)
            except Unanswered as error:
                found[volume.name] = kept.get(volume.name) or _text(pod, volume, error)
            except ClaimError as error:
                found[volume.name] = _text(pod, volume, error)
        good = {name: one for name, one in found.items() if isinstance(one, Found)}
        if good != kept:
            _write(pod_dir, good)
        return found

    async def _one(self, pod: Pod, volume: Volume) -> Found:
        namespace, name = pod.metadata.namespace, claim_name(pod, volume)
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/persistentvolumeclaims/{quote(name, safe='')}"
        claim = await self._get(path, Claim, "PVC", f'persistentvolumeclaims "{name}"')
        check_claim(pod, volume, claim)
        name = claim.spec.volumeName
        path = f"/api/v1/persistentvolumes/{quote(name, safe='')}"
        return judge_volume(claim, await self._get(path, PersistentVolume, f"PV {name}", f'persistentvolumes "{name}"'))

    async def _get(self, path: str, kind: type[T], label: str, what: str) -> T:
        failed = f"failed to fetch {label} from API server"
        try:
            answer = await self._actor.ask(
                KUBE_CLIENT, ApiCall(method="GET", path=path), ApiAnswer, timeout=CALL_SECONDS
            )
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


def _text(pod: Pod, volume: Volume, error: ClaimError) -> str:
    return f"error processing PVC {pod.metadata.namespace}/{claim_name(pod, volume)}: {error}"


def _read(pod_dir: str) -> dict[str, Found]:
    try:
        with open(f"{pod_dir}/{PLUGINS}/{_FILE}", "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Found])
    except (OSError, *UNREADABLE):
        return {}


def _write(pod_dir: str, found: dict[str, Found]) -> None:
    folder = f"{pod_dir}/{PLUGINS}"
    os.makedirs(folder, 0o750, exist_ok=True)
    with open(f"{folder}/{_FILE}.new", "wb") as file:
        file.write(msgspec.json.encode(found))
    os.replace(f"{folder}/{_FILE}.new", f"{folder}/{_FILE}")
