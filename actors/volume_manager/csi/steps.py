"""From a pod and its volume to what is to be done for it. Pure."""

from __future__ import annotations

import re
from typing import Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import CSIVolumeSource, Volume

from .model import CsiMount, CsiVolume, SecretName, inline_handle, volume_dir

DRIVER_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z")


def of_claim(pod: Pod, volume: str, source: CsiVolume, pod_dir: str, *, read_only: bool) -> CsiMount:
    """`read_only`: the claim is only read."""
    whole = pod.spec.securityContext
    given = next((one for one in pod.spec.volumes if one.name == volume), Volume(name=volume))
    return CsiMount(
        volume=volume,
        path=f"{volume_dir(pod_dir, source.name)}/mount",
        source=source,
        group=whole.fsGroup,
        when_root_differs=whole.fsGroupChangePolicy == "OnRootMismatch",
        read_only=read_only or source.read_only,
        claim="" if source.ephemeral else _claim(pod, given),
    )


def of_pod(pod: Pod, volume: str, given: CSIVolumeSource, pod_dir: str) -> CsiMount:
    """A volume that lives as long as its pod."""
    secret = given.nodePublishSecretRef
    source = CsiVolume(
        name=volume,
        driver=given.driver,
        handle=inline_handle(pod.metadata.uid, volume),
        ephemeral=True,
        read_only=bool(given.readOnly),
        fs_type=given.fsType or "",
        attributes=given.volumeAttributes,
        publish_secret=SecretName(pod.metadata.namespace, secret.get("name", "")) if secret else None,
    )
    return of_claim(pod, volume, source, pod_dir, read_only=False)


def _claim(pod: Pod, volume: Volume) -> str:
    claim = volume.persistentVolumeClaim
    return claim.claimName if claim is not None else f"{pod.metadata.name}-{volume.name}"
