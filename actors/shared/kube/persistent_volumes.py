"""PersistentVolumes and claims of them (API reference, PersistentVolume and PersistentVolumeClaim v1 core).

Sources that CSI drivers took over stay raw JSON. How a volume is mounted is in `actors/volume_manager/types/`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .disk_sources import FCVolumeSource, ISCSIVolumeSource
from .meta import Api, LocalObjectReference, ObjectMeta, Quantity
from .node_selector import NodeSelector
from .volumes import HostPathVolumeSource, NFSVolumeSource


class ClaimResources(Api, frozen=True):
    requests: dict[str, Quantity] = {}


class PersistentVolumeClaimSpec(Api, frozen=True):
    volumeName: str = ""
    volumeMode: str | None = None
    accessModes: list[str] = []
    resources: ClaimResources = ClaimResources()


class PersistentVolumeClaimStatus(Api, frozen=True):
    phase: str = ""
    capacity: dict[str, Quantity] = {}
    allocatedResources: dict[str, Quantity] = {}
    allocatedResourceStatuses: dict[str, str] = {}
    conditions: list[dict[str, Any]] = []
    """Unchanged, so that they can be written back."""


class PersistentVolumeClaim(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimReference(Api, frozen=True):
    name: str = ""
    uid: str = ""


class LocalVolumeSource(Api, frozen=True):
    path: str
    fsType: str = ""
    """The file system type of a device; '': the file system on the device, or ext4."""


class SecretReference(LocalObjectReference, frozen=True):
    namespace: str = ""


class CSIPersistentVolumeSource(Api, frozen=True):
    driver: str
    volumeHandle: str
    readOnly: bool = False
    fsType: str = ""
    volumeAttributes: dict[str, str] = {}
    nodeStageSecretRef: SecretReference | None = None
    nodePublishSecretRef: SecretReference | None = None
    nodeExpandSecretRef: SecretReference | None = None


class ISCSIPersistentVolumeSource(ISCSIVolumeSource, frozen=True):
    secretRef: SecretReference | None = None


class FlexPersistentVolumeSource(Api, frozen=True):
    driver: str
    fsType: str = ""
    secretRef: SecretReference | None = None
    options: dict[str, str] = {}


class VolumeNodeAffinity(Api, frozen=True):
    required: NodeSelector | None = None


class InTreeSources(Api, frozen=True):
    """Sources that CSI drivers took over; `actors/volume_manager/csi/migration.py` reads them."""

    awsElasticBlockStore: msgspec.Raw = msgspec.Raw()
    azureDisk: msgspec.Raw = msgspec.Raw()
    azureFile: msgspec.Raw = msgspec.Raw()
    cinder: msgspec.Raw = msgspec.Raw()
    gcePersistentDisk: msgspec.Raw = msgspec.Raw()
    portworxVolume: msgspec.Raw = msgspec.Raw()
    vsphereVolume: msgspec.Raw = msgspec.Raw()


class PersistentVolumeSpec(InTreeSources, frozen=True):
    capacity: dict[str, Quantity] = {}
    claimRef: ClaimReference | None = None
    accessModes: list[str] = []
    mountOptions: list[str] = []
    volumeMode: str | None = None
    nodeAffinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flexVolume: FlexPersistentVolumeSource | None = None
    hostPath: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    nfs: NFSVolumeSource | None = None


class PersistentVolume(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
