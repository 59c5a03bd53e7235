"""In-tree volumes of clouds as volumes of their CSI drivers (KEP-625). Pure.

Names, handles and attributes are the ones that the attach controller and the drivers use for the same volumes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.meta import Api, ObjectMeta
from actors.shared.kube.persistent_volumes import (
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeSpec,
    SecretReference,
)
from actors.shared.kube.volumes import Volume

from .topology import GCE_ZONE, VSPHERE_KEYS, gce_region, translated_topology, zones_of

_EBS_ID: Final = re.compile(r"vol-[^/]*\Z")
_ACCOUNT: Final = re.compile(r"azure-storage-account-(.+)-secret")
_UNSPECIFIED: Final = "UNSPECIFIED"
_RESOURCE_GROUP: Final = "kubernetes.io/azure-file-resource-group"
_PORTWORX_SECRET: Final = ("openstorage.io/auth-secret-name", "openstorage.io/auth-secret-namespace")
_NO_SOURCE: Final = PersistentVolumeSpec()
"""Only its own default objects are omitted from JSON."""
T = TypeVar("T", bound=Api)


class MigrationError(Exception):
    """The volume cannot be translated; the text has the reason."""


class _Disk(Api, frozen=True):
    """awsElasticBlockStore, gcePersistentDisk, cinder, vsphereVolume and portworxVolume: each has some of these."""

    volumeID: str = ""
    pdName: str = ""
    volumePath: str = ""
    fsType: str = ""
    partition: int = 0
    readOnly: bool = False
    storagePolicyName: str = ""


class _AzureDisk(Api, frozen=True):
    diskURI: str = ""
    cachingMode: str | None = None
    fsType: str | None = None
    readOnly: bool = False
    kind: str | None = None


class _AzureFile(Api, frozen=True):
    secretName: str = ""
    secretNamespace: str | None = None
    shareName: str = ""
    readOnly: bool = False


class _Origin(NamedTuple):
    """The object in which a source was found."""

    raw: msgspec.Raw
    driver: str
    meta: ObjectMeta
    """Metadata of the PersistentVolume; an inline volume has a name only."""
    namespace: str
    """The namespace of the pod or claim."""
    inline: bool


Source = CSIPersistentVolumeSource


class _Translation(NamedTuple):
    driver: str
    source: Callable[[_Origin], Source]
    topology: tuple[str, str] = ("", "")
    """The driver's keys of zone and region; '' for none."""


def _ebs(origin: _Origin) -> Source:
    disk = _decode(origin, _Disk)
    return _source(origin, _ebs_id(disk.volumeID), disk, {"partition": str(disk.partition)})


def _ebs_id(text: str) -> str:
    """The volume's ID in `vol-1` or `aws://zone/vol-1`."""
    if not text.startswith("aws://"):
        return text
    try:
        found = urlsplit(text).path.strip("/")
    except ValueError:
        found = ""
    if not _EBS_ID.match(found):
        raise MigrationError(f"failed to translate Kubernetes ID to EBS Volume ID: invalid format ({text})")
    return found


def _gce(origin: _Origin) -> Source:
    disk = _decode(origin, _Disk)
    zones = zones_of(origin.meta) if not origin.inline else []
    if len(zones) > 1:
        try:
            place = f"regions/{gce_region(zones)}"
        except ValueError as error:
            raise MigrationError(f"failed to get region from zones: {error}") from None
    else:
        place = f"zones/{zones[0] if zones else _UNSPECIFIED}"
    handle = f"projects/{_UNSPECIFIED}/{place}/disks/{disk.pdName}" if disk.pdName else ""
    return _source(origin, handle, disk, {"partition": str(disk.partition or "")})


def _cinder(origin: _Origin) -> Source:
    disk = _decode(origin, _Disk)
    return _source(origin, disk.volumeID, disk, {})


def _vsphere(origin: _Origin) -> Source:
    disk = _decode(origin, _Disk)
    policy = {"storagepolicyname": disk.storagePolicyName} if disk.storagePolicyName else {}
    return _source(origin, disk.volumePath, disk, policy)


def _portworx(origin: _Origin) -> Source:
    disk = _decode(origin, _Disk)
    name, namespace = (origin.meta.annotations.get(key) for key in _PORTWORX_SECRET)
    secret = SecretReference(name=name, namespace=namespace) if name is not None and namespace is not None else None
    found = _source(origin, disk.volumeID, disk, {})
    refs = {"nodeStageSecretRef": secret, "nodePublishSecretRef": secret, "nodeExpandSecretRef": secret}
    return msgspec.structs.replace(found, readOnly=origin.inline and disk.readOnly, **refs)


def _azure_disk(origin: _Origin) -> Source:
    disk = _decode(origin, _AzureDisk)
    if disk.kind is not None and disk.kind.lower() != "managed":
        raise MigrationError(f"kind({disk.kind}) is not supported in csi migration")
    attributes = {"kind": "Managed"}
    if disk.cachingMode:
        attributes["cachingmode"] = disk.cachingMode
    if disk.fsType is not None:
        attributes["fstype"] = disk.fsType
    plain = _Disk(fsType=disk.fsType or "", readOnly=disk.readOnly)
    return _source(origin, disk.diskURI, plain, attributes)


def _azure_file(origin: _Origin) -> Source:
    share = _decode(origin, _AzureFile)
    namespace = (None if origin.inline else share.secretNamespace) or origin.namespace
    if not namespace:
        raise MigrationError("could not find a secret namespace in PersistentVolumeSource or ClaimRef")
    match = _ACCOUNT.search(share.secretName)
    account = match[1] if match else share.secretName
    group = "" if origin.inline else origin.meta.annotations.get(_RESOURCE_GROUP, "")
    handle = f"{group}#{account}#{share.shareName}#{origin.meta.name}#{namespace}" if share.shareName else ""
    found = _source(origin, handle, _Disk(readOnly=share.readOnly), {"sharename": share.shareName})
    return msgspec.structs.replace(
        found, nodeStageSecretRef=SecretReference(name=share.secretName, namespace=namespace)
    )


TRANSLATIONS: Final = {
    "awsElasticBlockStore": _Translation("ebs.csi.aws.com", _ebs, ("topology.ebs.csi.aws.com/zone", "")),
    "azureDisk": _Translation("disk.csi.azure.com", _azure_disk),
    "azureFile": _Translation("file.csi.azure.com", _azure_file),
    "cinder": _Translation("cinder.csi.openstack.org", _cinder, ("topology.cinder.csi.openstack.org/zone", "")),
    "gcePersistentDisk": _Translation("pd.csi.storage.gke.io", _gce, (GCE_ZONE, "")),
    "portworxVolume": _Translation("pxd.portworx.com", _portworx),
    "vsphereVolume": _Translation("csi.vsphere.vmware.com", _vsphere, VSPHERE_KEYS),
}
"""By the field of a Volume and of a PersistentVolume's spec."""


def migrated(volume: PersistentVolume, namespace: str) -> PersistentVolume:
    """The PersistentVolume, its in-tree source replaced by a CSI source if there is a translation.

    `namespace`: the claim's. Raises MigrationError.
    """
    spec = volume.spec
    for field, translation in TRANSLATIONS.items():
        raw = getattr(spec, field)
        if raw == msgspec.Raw():
            continue
        source = translation.source(_Origin(raw, translation.driver, volume.metadata, namespace, inline=False))
        modes = _gce_modes(spec.accessModes) if field == "gcePersistentDisk" else spec.accessModes
        changes = {field: getattr(_NO_SOURCE, field), "csi": source, "accessModes": modes}
        found = msgspec.structs.replace(spec, **changes)
        if translation.topology != ("", ""):
            affinity = translated_topology(volume, *translation.topology)
            found = msgspec.structs.replace(found, nodeAffinity=affinity)
        return msgspec.structs.replace(volume, spec=found)
    return volume


def migrated_inline(volume: Volume, field: str, namespace: str) -> PersistentVolume:
    """The PersistentVolume that stands for an in-tree volume of a pod. `namespace`: the pod's.

    Raises MigrationError."""
    translation = TRANSLATIONS[field]
    meta = ObjectMeta(name=volume.name)
    source = translation.source(_Origin(getattr(volume, field), translation.driver, meta, namespace, inline=True))
    modes = ["ReadWriteMany"] if field == "azureFile" else ["ReadWriteOnce"]
    if field in ("gcePersistentDisk", "portworxVolume") and source.readOnly:
        modes = ["ReadOnlyMany"]
    disk = source.volumeHandle.rpartition("/")[2] if field == "gcePersistentDisk" else source.volumeHandle
    name = disk if field in ("azureDisk", "azureFile") else f"{translation.driver}-{disk}"
    return PersistentVolume(metadata=ObjectMeta(name=name), spec=PersistentVolumeSpec(accessModes=modes, csi=source))


def _gce_modes(modes: list[str]) -> list[str]:
    """The access modes of a GCE disk: for the in-tree plugin, every mode with write access was ReadWriteOnce."""
    if not modes:
        return modes
    return ["ReadOnlyMany"] if set(modes) == {"ReadOnlyMany"} else ["ReadWriteOnce"]


def _decode(origin: _Origin, kind: type[T]) -> T:
    try:
        return decode(bytes(origin.raw), kind)
    except ObjectError as error:
        raise MigrationError(str(error)) from None


def _source(origin: _Origin, handle: str, disk: _Disk, attributes: dict[str, str]) -> Source:
    if not handle:
        raise MigrationError(f"names no volume of the driver {origin.driver}")
    return CSIPersistentVolumeSource(
        driver=origin.driver,
        volumeHandle=handle,
        readOnly=disk.readOnly,
        fsType=disk.fsType,
        volumeAttributes=attributes,
    )
