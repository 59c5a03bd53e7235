"""Whether a pod may use a PersistentVolumeClaim, and a claim its PersistentVolume. Pure.

The texts are the kubelet's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.kube.node_selector import selects
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers
from actors.shared.kube.volumes import Volume
from actors.volume_manager.failure_texts import (
    CHECK_NODE,
    CHECK_NODE_OF_DEVICE,
    SET_UP,
    SET_UP_DEVICE,
    MountError,
    failure,
)

GID_ANNOTATION: Final = "pv.beta.kubernetes.io/gid"
OPTIONS_ANNOTATION: Final = "volume.beta.kubernetes.io/mount-options"
"""The older way to give mountOptions."""
ONE_POD: Final = "ReadWriteOncePod"
BOUND: Final = "Bound"
BLOCK: Final = "Block"
"""volumeMode of a volume that pods use as a device."""
PROTECTION: Final = "kubernetes.io/pvc-protection"
"""A claim with this finalizer is still in use by some pod."""
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")


class VolumeClaimError(Exception):
    """The claim cannot be used now; the text has the reason."""


class MisusedClaimError(VolumeClaimError):
    """The claim is not for this pod, or not for this use. The event shows the text without the claim's name before
    it."""


class UnusableVolume(msgspec.Struct, frozen=True):
    """The PersistentVolume `name` of a claim, which this pod cannot use on this node now."""

    name: str
    error: MountError


class UnusableVolumeError(VolumeClaimError):
    """The claim has a volume, `unusable`."""

    def __init__(self, name: str, error: MountError) -> None:
        super().__init__(failure(name, error))
        self.unusable = UnusableVolume(name, error)


class ClaimedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of a pod whose source is a claim, and the PersistentVolume that the claim is bound to."""

    volume: str
    """The volume's name in the pod."""
    claim: str
    read_only: bool
    """The pod asks for a read-only claim."""
    persistent: PersistentVolume

    @property
    def name(self) -> str:
        """The PersistentVolume's name, which names the volume's directory."""
        return self.persistent.metadata.name

    @property
    def is_block(self) -> bool:
        return self.persistent.spec.volumeMode == BLOCK


def claim_name(pod: Pod, volume: Volume) -> str:
    """The name of the volume's claim, or of the claim made for it; '' for a volume of another type."""
    if volume.persistentVolumeClaim is not None:
        return volume.persistentVolumeClaim.claimName
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral != msgspec.Raw() else ""


def claimed_volume(pod: Pod, volume: Volume, persistent: PersistentVolume) -> ClaimedVolume:
    source = volume.persistentVolumeClaim
    return ClaimedVolume(
        volume=volume.name,
        claim=claim_name(pod, volume),
        read_only=source is not None and source.readOnly,
        persistent=persistent,
    )


def claim_error(pod: Pod, claim: str, error: VolumeClaimError) -> str:
    """The text of the event. `claim`: its name."""
    before = "" if isinstance(error, MisusedClaimError) else f"error processing PVC {pod.metadata.namespace}/{claim}: "
    return f"{before}{error}"


def check_claim(pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> None:
    """Raises VolumeClaimError for a claim that this pod cannot use now."""
    meta = claim.metadata
    if meta.deletionTimestamp is not None and PROTECTION not in meta.finalizers:
        raise VolumeClaimError("PVC is being deleted")
    if claim.status.phase != BOUND:
        raise VolumeClaimError("PVC is not bound")
    if not claim.spec.volumeName:
        raise VolumeClaimError("PVC has empty pvc.Spec.VolumeName")
    if volume.persistentVolumeClaim is None and not any(
        owner.controller and owner.uid == pod.metadata.uid for owner in meta.ownerReferences
    ):
        owner, whole = f"{pod.metadata.namespace}/{pod.metadata.name}", f"{meta.namespace}/{meta.name}"
        raise MisusedClaimError(f"PVC {whole} was not created for pod {owner} (pod is not owner)")


def check_use(pod: Pod, volume: ClaimedVolume) -> None:
    """Raises VolumeClaimError for a device that is mounted, or a file system that is used as a device."""
    field = "volumeMounts" if volume.is_block else "volumeDevices"
    if any(use.name == volume.volume for container in all_containers(pod) for use in getattr(container, field)):
        mode = BLOCK if volume.is_block else "Filesystem"
        raise MisusedClaimError(f"volume {volume.volume} has volumeMode {mode}, but is specified in {field}")


def check_persistent_volume(claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
    """Raises VolumeClaimError for a volume that is not the claim's."""
    name, reference = volume.metadata.name, volume.spec.claimRef
    if reference is None:
        text = "it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        raise VolumeClaimError(f"found PV object {name} but {text}")
    if reference.uid != claim.metadata.uid:
        text = f"its pv.Spec.ClaimRef.UID {reference.uid} does not point to claim.UID {claim.metadata.uid}"
        raise VolumeClaimError(f"found PV object {name} but {text}")


def check_node(volume: PersistentVolume, name: str, labels: Mapping[str, str]) -> None:
    """Raises UnusableVolumeError for a volume that this node, with this name and these labels, may not use."""
    affinity = volume.spec.nodeAffinity
    if affinity is not None and affinity.required is not None and not selects(affinity.required, name, labels):
        operation = CHECK_NODE_OF_DEVICE if volume.spec.volumeMode == BLOCK else CHECK_NODE
        raise UnusableVolumeError(volume.metadata.name, MountError("no matching NodeSelectorTerms", operation))


def in_use(volume: PersistentVolume) -> UnusableVolumeError:
    """The error for a ReadWriteOncePod volume that another pod uses."""
    text = "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
    operation = SET_UP_DEVICE if volume.spec.volumeMode == BLOCK else SET_UP
    return UnusableVolumeError(volume.metadata.name, MountError(text, operation))


def supplemental_groups(volumes: Iterable[PersistentVolume]) -> list[int]:
    """The groups in the volumes' annotations. Like the kubelet, it ignores values that are not numbers."""
    found = (volume.metadata.annotations.get(GID_ANNOTATION, "") for volume in volumes)
    return sorted({int(text) for text in found if text.isascii() and text.isdigit() and len(text) <= 10})


def mount_options(volume: PersistentVolume) -> list[str]:
    """The mount options of the volume; those of the older annotation count alone."""
    annotated = volume.metadata.annotations.get(OPTIONS_ANNOTATION)
    given = volume.spec.mountOptions if annotated is None else annotated.split(",")
    return [option for option in given if option]


def checked_name(volume: ClaimedVolume) -> str:
    """The PersistentVolume's name, which names a directory. Raises VolumeClaimError for an invalid one."""
    if not _NAME.match(volume.name):
        raise VolumeClaimError(f"PV {volume.name!r}: not a name")
    return volume.name


def checked_path(volume: ClaimedVolume, path: str) -> str:
    """A path of this node in a PersistentVolume. Raises VolumeClaimError."""
    if not path.startswith("/") or ".." in path.split("/"):
        raise VolumeClaimError(f"PV {volume.name}: its path {path!r} must be absolute and without '..'")
    return path
