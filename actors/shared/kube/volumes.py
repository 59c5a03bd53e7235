"""Volumes of pods: the type of each source, its validation, and the objects that it refers to.

Sources that this agent does not mount stay raw JSON, by name. How a volume is mounted is in
`actors/volume_manager/types/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from . import formats
from .credential_sources import ClusterTrustBundleProjection, PodCertificateProjection
from .disk_sources import FCVolumeSource, ISCSIVolumeSource
from .meta import Api, KeyToPath, ObjectFieldSelector, Quantity, ResourceFieldSelector
from .quantity import QuantityError, parse
from .volume_source import ObjectUse, Problem, SourceWithSecret, VolumeSource

HOST_PATH_TYPES: Final = (
    "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
)  # fmt: skip

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


class EmptyDirVolumeSource(VolumeSource, frozen=True):
    medium: str = ""
    sizeLimit: Quantity | None = None

    def problems(self) -> Iterator[Problem]:
        if not (self.medium in ("", "Memory", "HugePages") or self.medium.startswith("HugePages-")):
            yield "medium", f"{self.medium[:40]!r} is not one of Memory, HugePages, HugePages-<size>"
        if self.sizeLimit is None:
            return
        try:
            if parse(self.sizeLimit) < 0:
                yield "sizeLimit", "must not be negative"
        except QuantityError:
            yield "sizeLimit", f"{str(self.sizeLimit)[:40]!r} is not a quantity, like 64Mi"


class HostPathVolumeSource(VolumeSource, frozen=True):
    path: str
    type: str | None = None

    def problems(self) -> Iterator[Problem]:
        if not self.path:
            yield "path", "required"
        if ".." in self.path.split("/"):
            yield "path", "must not contain '..'"
        if self.type and self.type not in HOST_PATH_TYPES:
            yield "type", f"{self.type[:60]!r} is not one of {', '.join(sorted(HOST_PATH_TYPES))}"


class FilesSource(VolumeSource, frozen=True):
    """Base of the sources whose files only the agent writes."""

    defaultMode: int | None = None

    def problems(self) -> Iterator[Problem]:
        yield from _mode_problems("defaultMode", self.defaultMode)

    @property
    def only_read(self) -> bool:
        return True


class KeysSource(FilesSource, frozen=True):
    """Base of the sources with a file for each key of an API object."""

    items: list[KeyToPath] = []
    """Empty: a file for every key."""
    optional: bool | None = None

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from _item_problems(self.items)

    def api_fields(self) -> Iterator[str]:
        yield ""


class SecretVolumeSource(KeysSource, frozen=True):
    secretName: str = ""

    def objects(self) -> Iterator[ObjectUse]:
        yield ObjectUse("Secret", self.secretName, mounted=True)


class ConfigMapVolumeSource(KeysSource, frozen=True):
    name: str = ""

    def objects(self) -> Iterator[ObjectUse]:
        yield ObjectUse("ConfigMap", self.name, mounted=True)


class DownwardAPIVolumeFile(Api, frozen=True):
    path: str
    fieldRef: ObjectFieldSelector | None = None
    resourceFieldRef: ResourceFieldSelector | None = None
    mode: int | None = None


class DownwardAPIVolumeSource(FilesSource, frozen=True):
    items: list[DownwardAPIVolumeFile] = []

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from _item_problems(self.items)
        for index, item in enumerate(self.items):
            given = [name for name in ("fieldRef", "resourceFieldRef") if getattr(item, name) is not None]
            what = "one of fieldRef, resourceFieldRef"
            if len(given) != 1:
                more = f"has more than one {what}: {', '.join(given)}"
                yield f"items[{index}]", more if given else f"needs {what}"


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
    clusterTrustBundle: ClusterTrustBundleProjection | None = None
    podCertificate: PodCertificateProjection | None = None

    def paths(self) -> Iterator[str]:
        """The paths of its files."""
        for source in (self.secret, self.configMap, self.downwardAPI):
            yield from (item.path for item in (source.items if source is not None else ()))
        if self.serviceAccountToken is not None:
            yield self.serviceAccountToken.path
        for credentials in (self.clusterTrustBundle, self.podCertificate):
            yield from credentials.paths() if credentials is not None else ()


class ProjectedVolumeSource(FilesSource, frozen=True):
    sources: list[VolumeProjection] = []

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        paths: set[str] = set()
        for index, part in enumerate(self.sources):
            given = [name for name in part.__struct_fields__ if getattr(part, name)]
            if not given:
                yield f"sources[{index}]", "needs a source"
            if len(given) > 1:
                yield f"sources[{index}]", f"has more than one source: {', '.join(given)}"
            for field, problem in part.downwardAPI.problems() if part.downwardAPI is not None else ():
                yield f"sources[{index}].downwardAPI.{field}", problem
            for name in ("clusterTrustBundle", "podCertificate"):
                credentials = getattr(part, name)
                for field, problem in credentials.problems() if credentials is not None else ():
                    yield f"sources[{index}].{name}{field and '.'}{field}", problem
            for path in part.paths():
                if path in paths:
                    yield f"sources[{index}]", f"{path!r} is the path of another file, too"
                paths.add(path)

    def objects(self) -> Iterator[ObjectUse]:
        for part in self.sources:
            if part.secret is not None:
                yield ObjectUse("Secret", part.secret.name, mounted=True)
            if part.configMap is not None:
                yield ObjectUse("ConfigMap", part.configMap.name, mounted=True)

    def api_fields(self) -> Iterator[str]:
        for index, part in enumerate(self.sources):
            for name in ("secret", "configMap", "serviceAccountToken", "clusterTrustBundle", "podCertificate"):
                if getattr(part, name):
                    yield f"sources[{index}].{name}"


class NFSVolumeSource(VolumeSource, frozen=True):
    server: str
    path: str
    readOnly: bool = False

    def problems(self) -> Iterator[Problem]:
        if not self.server:
            yield "server", "required"
        if not self.path.startswith("/"):
            yield "path", "must be an absolute path"


class FlexVolumeSource(SourceWithSecret, frozen=True):
    driver: str
    """As in `vendor/name`, or `name`."""
    fsType: str = ""
    options: dict[str, str] = {}

    def problems(self) -> Iterator[Problem]:
        if not self.driver:
            yield "driver", "required"
        for key in self.options:
            domain = key.partition("/")[0].lower()
            if "/" in key and f".{domain}".endswith((".kubernetes.io", ".k8s.io")):
                yield f"options[{key[:60]}]", "kubernetes.io and k8s.io are reserved for the agent's own options"


class PersistentVolumeClaimVolumeSource(VolumeSource, frozen=True):
    claimName: str
    readOnly: bool = False

    def api_fields(self) -> Iterator[str]:
        yield ""

    @property
    def only_read(self) -> bool:
        return self.readOnly


class CSIVolumeSource(VolumeSource, frozen=True):
    driver: str
    readOnly: bool | None = None
    fsType: str | None = None
    volumeAttributes: dict[str, str] = {}
    nodePublishSecretRef: dict[str, str] | None = None

    def objects(self) -> Iterator[ObjectUse]:
        if self.nodePublishSecretRef:
            yield ObjectUse("Secret", self.nodePublishSecretRef.get("name", ""), mounted=False)

    def api_fields(self) -> Iterator[str]:
        if self.nodePublishSecretRef:
            yield ""

    @property
    def only_read(self) -> bool:
        return bool(self.readOnly)


class ImageVolumeSource(VolumeSource, frozen=True):
    reference: str = ""
    pullPolicy: str = ""

    def problems(self) -> Iterator[Problem]:
        if self.pullPolicy and self.pullPolicy not in PULL_POLICIES:
            yield "pullPolicy", f"{self.pullPolicy[:60]!r} is not one of {', '.join(PULL_POLICIES)}"


class Volume(Api, frozen=True):
    """Exactly one source is set. The raw ones below are only known by name."""

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
    flexVolume: FlexVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    fc: FCVolumeSource | None = None
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

    def sources(self) -> Iterator[tuple[str, VolumeSource | msgspec.Raw]]:
        """The sources that are set, by name."""
        for name in SOURCES:
            source = getattr(self, name)
            if source is not None and source != msgspec.Raw():
                yield name, source


SOURCES: Final = tuple(field for field in Volume.__struct_fields__ if field != "name")


def _mode_problems(field: str, mode: int | None) -> Iterator[Problem]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield field, f"{mode} is not between 0 and {0o777}"


def _item_problems(items: Iterable[KeyToPath | DownwardAPIVolumeFile]) -> Iterator[Problem]:
    for index, item in enumerate(items):
        wrong = formats.inside_path(item.path) if item.path else "required"
        if wrong:
            yield f"items[{index}].path", wrong
        yield from _mode_problems(f"items[{index}].mode", item.mode)
