"""PersistentVolumeClaims: what a claim stands for on this node (PersistentVolumes of hostPath, local, nfs, csi). Pure.

Texts are the reference's.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.shared.kube.meta import Api, ObjectMeta
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import HostPathVolumeSource, NFSVolumeSource, Volume

from .csi.model import CsiVolume, SecretName
from .csi.steps import DRIVER_NAME
from .nfs import export_of, options_of

BOUND: Final = "Bound"
_OPTIONS_ANNOTATION: Final = "volume.beta.kubernetes.io/mount-options"
"""The older way to name mountOptions."""
_VOLUME_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")


class ClaimError(Exception):
    """Now, at least, the claim stands for nothing that can be mounted; the text says why."""


class Found(msgspec.Struct, frozen=True):
    """What a claim stands for. `group`: files are given to the pod's fsGroup (local volumes only)."""

    path: str
    """Of this node; of an NFS volume what is mounted, server:/directory."""
    type: str = ""
    group: bool = False
    nfs_volume: str = ""
    """The PersistentVolume's name, for one of NFS."""
    options: list[str] = []
    """Of the mount."""
    csi: CsiVolume | None = None
    """A driver's volume: there is no path."""


class _ClaimSpec(Api, frozen=True):
    volumeName: str = ""
    volumeMode: str | None = None


class _ClaimStatus(Api, frozen=True):
    phase: str = ""


class Claim(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ClaimSpec = _ClaimSpec()
    status: _ClaimStatus = _ClaimStatus()


class _ClaimRef(Api, frozen=True):
    uid: str = ""


class _Local(Api, frozen=True):
    path: str


class _SecretRef(Api, frozen=True):
    name: str = ""
    namespace: str = ""


class _Csi(Api, frozen=True):
    driver: str
    volumeHandle: str
    readOnly: bool = False
    fsType: str = ""
    volumeAttributes: dict[str, str] = {}
    nodeStageSecretRef: _SecretRef | None = None
    nodePublishSecretRef: _SecretRef | None = None


class _VolumeSpec(Api, frozen=True):
    claimRef: _ClaimRef | None = None
    hostPath: HostPathVolumeSource | None = None
    local: _Local | None = None
    accessModes: list[str] = []
    csi: _Csi | None = None
    nfs: NFSVolumeSource | None = None
    mountOptions: list[str] = []


class PersistentVolume(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _VolumeSpec = _VolumeSpec()


def claim_name(pod: Pod, volume: Volume) -> str:
    """Of the claim that the volume names, or that was made for it; '' for a volume of another kind."""
    if volume.persistentVolumeClaim is not None:
        return volume.persistentVolumeClaim.claimName
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral != msgspec.Raw() else ""


def check_claim(pod: Pod, volume: Volume, claim: Claim) -> None:
    """Raises ClaimError for one that this pod cannot use now."""
    meta = claim.metadata
    whole = f"{meta.namespace}/{meta.name}"
    if volume.persistentVolumeClaim is None and not any(
        owner.controller and owner.uid == pod.metadata.uid for owner in meta.ownerReferences
    ):
        owner = f"{pod.metadata.namespace}/{pod.metadata.name}"
        raise ClaimError(f"PVC {whole} was not created for pod {owner} (pod is not owner)")
    if meta.deletionTimestamp is not None:
        raise ClaimError("PVC is being deleted")
    if claim.status.phase != BOUND:
        raise ClaimError("PVC is not bound")
    if not claim.spec.volumeName:
        raise ClaimError("PVC has empty pvc.Spec.VolumeName")
    if claim.spec.volumeMode == "Block":
        raise ClaimError(f"PVC {whole} is a block volume, which this agent does not support yet")


def judge_volume(claim: Claim, volume: PersistentVolume) -> Found:
    """The path that a bound claim stands for. Raises ClaimError."""
    name, spec = volume.metadata.name, volume.spec
    if spec.claimRef is None:
        raise ClaimError(f"found PV object {name} but it has a nil pv.Spec.ClaimRef: it is not yet bound to the claim")
    if spec.claimRef.uid != claim.metadata.uid:
        text = f"its pv.Spec.ClaimRef.UID {spec.claimRef.uid} does not point to claim.UID {claim.metadata.uid}"
        raise ClaimError(f"found PV object {name} but {text}")
    if spec.hostPath is not None:
        path, kind = spec.hostPath.path, spec.hostPath.type or ""
        found = Found(path, kind)
    elif spec.local is not None:
        found = Found(spec.local.path, "Directory", group=True)
    elif spec.nfs is not None:
        return _nfs(volume, spec.nfs)
    elif spec.csi is not None:
        return _csi(volume, spec.csi)
    else:
        raise ClaimError(f"PV {name}: its source is not supported by this agent, only csi, hostPath, local and nfs")
    if not found.path.startswith("/") or ".." in found.path.split("/"):
        raise ClaimError(f"PV {name}: its path {found.path!r} must be absolute and without '..'")
    return found


def _csi(volume: PersistentVolume, source: _Csi) -> Found:
    name = volume.metadata.name
    if not _VOLUME_NAME.match(name) or not DRIVER_NAME.match(source.driver) or not source.volumeHandle:
        raise ClaimError(f"PV {name!r}: its name, driver {source.driver!r} or volumeHandle is none")
    made = CsiVolume(
        name=name,
        driver=source.driver,
        handle=source.volumeHandle,
        read_only=source.readOnly,
        fs_type=source.fsType,
        attributes=source.volumeAttributes,
        mount_options=volume.spec.mountOptions,
        access_modes=volume.spec.accessModes,
        stage_secret=_secret(source.nodeStageSecretRef),
        publish_secret=_secret(source.nodePublishSecretRef),
    )
    return Found("", csi=made)


def _secret(ref: _SecretRef | None) -> SecretName | None:
    return None if ref is None or not ref.name else SecretName(ref.namespace, ref.name)


def _nfs(volume: PersistentVolume, source: NFSVolumeSource) -> Found:
    name = volume.metadata.name
    given = volume.metadata.annotations.get(_OPTIONS_ANNOTATION, "")
    options = options_of([*given.split(","), *volume.spec.mountOptions], read_only=source.readOnly)
    if not _VOLUME_NAME.match(name):
        raise ClaimError(f"PV {name!r}: not a name")
    try:
        return Found(export_of(source.server, source.path), nfs_volume=name, options=options)
    except ValueError as error:
        raise ClaimError(f"PV {name}: nfs: {error}") from None
