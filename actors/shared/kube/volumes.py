"""Volumes of a pod. Sources that this agent hands to a CSI driver or refuses are kept as raw JSON, by name."""

from __future__ import annotations

import msgspec

from .meta import Api, KeyToPath, ObjectFieldSelector, ObjectMeta, Quantity, ResourceFieldSelector


class EmptyDirVolumeSource(Api, frozen=True):
    medium: str = ""
    sizeLimit: Quantity | None = None


class HostPathVolumeSource(Api, frozen=True):
    path: str
    type: str | None = None


class SecretVolumeSource(Api, frozen=True):
    secretName: str = ""
    items: list[KeyToPath] = []
    defaultMode: int | None = None
    optional: bool | None = None


class ConfigMapVolumeSource(Api, frozen=True):
    name: str = ""
    items: list[KeyToPath] = []
    defaultMode: int | None = None
    optional: bool | None = None


class DownwardAPIVolumeFile(Api, frozen=True):
    path: str
    fieldRef: ObjectFieldSelector | None = None
    resourceFieldRef: ResourceFieldSelector | None = None
    mode: int | None = None


class DownwardAPIVolumeSource(Api, frozen=True):
    items: list[DownwardAPIVolumeFile] = []
    defaultMode: int | None = None


class SecretProjection(Api, frozen=True):
    """Also the shape of a config map projection."""

    name: str = ""
    items: list[KeyToPath] = []
    optional: bool | None = None


class ServiceAccountTokenProjection(Api, frozen=True):
    path: str
    audience: str = ""
    expirationSeconds: int | None = None


class VolumeProjection(Api, frozen=True):
    secret: SecretProjection | None = None
    configMap: SecretProjection | None = None
    downwardAPI: DownwardAPIVolumeSource | None = None
    serviceAccountToken: ServiceAccountTokenProjection | None = None
    clusterTrustBundle: msgspec.Raw = msgspec.Raw()
    podCertificate: msgspec.Raw = msgspec.Raw()


class ProjectedVolumeSource(Api, frozen=True):
    sources: list[VolumeProjection] = []
    defaultMode: int | None = None


class NFSVolumeSource(Api, frozen=True):
    server: str
    path: str
    readOnly: bool = False


class PersistentVolumeClaimVolumeSource(Api, frozen=True):
    claimName: str
    readOnly: bool = False


class CSIVolumeSource(Api, frozen=True):
    driver: str
    readOnly: bool | None = None
    fsType: str | None = None
    volumeAttributes: dict[str, str] = {}
    nodePublishSecretRef: dict[str, str] | None = None


class ImageVolumeSource(Api, frozen=True):
    reference: str = ""
    pullPolicy: str = ""


class Volume(Api, frozen=True):
    """Exactly one source is set. The raw ones below are known by name only."""

    name: str
    emptyDir: EmptyDirVolumeSource | None = None
    hostPath: HostPathVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    configMap: ConfigMapVolumeSource | None = None
    downwardAPI: DownwardAPIVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    persistentVolumeClaim: PersistentVolumeClaimVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    ephemeral: msgspec.Raw = msgspec.Raw()
    image: ImageVolumeSource | None = None
    iscsi: msgspec.Raw = msgspec.Raw()
    fc: msgspec.Raw = msgspec.Raw()
    flexVolume: msgspec.Raw = msgspec.Raw()
    gitRepo: msgspec.Raw = msgspec.Raw()
    awsElasticBlockStore: msgspec.Raw = msgspec.Raw()
    azureDisk: msgspec.Raw = msgspec.Raw()
    azureFile: msgspec.Raw = msgspec.Raw()
    cephfs: msgspec.Raw = msgspec.Raw()
    cinder: msgspec.Raw = msgspec.Raw()
    flocker: msgspec.Raw = msgspec.Raw()
    gcePersistentDisk: msgspec.Raw = msgspec.Raw()
    glusterfs: msgspec.Raw = msgspec.Raw()
    photonPersistentDisk: msgspec.Raw = msgspec.Raw()
    portworxVolume: msgspec.Raw = msgspec.Raw()
    quobyte: msgspec.Raw = msgspec.Raw()
    rbd: msgspec.Raw = msgspec.Raw()
    scaleIO: msgspec.Raw = msgspec.Raw()
    storageos: msgspec.Raw = msgspec.Raw()
    vsphereVolume: msgspec.Raw = msgspec.Raw()


# -- claims and their volumes -----------------------------------------------------------------------------------------
class PersistentVolumeClaimSpec(Api, frozen=True):
    volumeName: str = ""
    volumeMode: str | None = None


class PersistentVolumeClaimStatus(Api, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimReference(Api, frozen=True):
    uid: str = ""


class LocalVolumeSource(Api, frozen=True):
    path: str


class SecretReference(Api, frozen=True):
    name: str = ""
    namespace: str = ""


class CSIPersistentVolumeSource(Api, frozen=True):
    driver: str
    volumeHandle: str
    readOnly: bool = False
    fsType: str = ""
    volumeAttributes: dict[str, str] = {}
    nodeStageSecretRef: SecretReference | None = None
    nodePublishSecretRef: SecretReference | None = None


class PersistentVolumeSpec(Api, frozen=True):
    claimRef: ClaimReference | None = None
    accessModes: list[str] = []
    mountOptions: list[str] = []
    csi: CSIPersistentVolumeSource | None = None
    hostPath: HostPathVolumeSource | None = None
    local: LocalVolumeSource | None = None
    nfs: NFSVolumeSource | None = None


class PersistentVolume(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
